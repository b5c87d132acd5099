"""Colours for light and dark: a page may say which it is (the site, JupyterLab), or leave it to the reader's system."""

NOT_LIGHT = "body:not([data-theme=light]):not([data-jp-theme-light=true])"


def themed(selector: str, light: str, dark: str) -> str:
    """CSS that gives `selector` one or the other set of declarations; paper is always light."""
    said = ", ".join(f"body[{mark}] {selector}" for mark in ("data-theme=dark", "data-jp-theme-light=false"))
    return (
        f"{selector} {{ {light} }}\n"
        f"@media screen {{ {said} {{ {dark} }} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ {NOT_LIGHT} {selector} {{ {dark} }} }}\n"
    )
