"""The build folder .kit/build, and the labs' programs that are built and run there."""
