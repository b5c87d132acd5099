// A JupyterLab extension as it is loaded, without a build: a cell that begins with %%lab or %%cuda is shown as C++, where
// JupyterLab would take it for Python as the rest of the notebook. And a notebook that was only opened is not unsaved.
(() => {
  const kernel = /^%%(lab|cuda)\b/;
  const cpp = "text/x-c++src";
  let shared = {};

  // One of the modules that JupyterLab shares with its extensions, in the newest version there is.
  async function module(name) {
    const versions = shared[name];
    const newest = Object.keys(versions).sort((a, b) => a.localeCompare(b, undefined, { numeric: true })).pop();
    return (await versions[newest].get())();
  }

  function follow(model) {
    const update = () => {
      if (kernel.test(model.sharedModel.getSource()) && model.mimeType !== cpp) model.mimeType = cpp;
    };
    model.contentChanged.connect(update);
    model.mimeTypeChanged.connect(update); // the notebook sets every cell's language when the kernel says its own
    update();
  }

  // JupyterLab notes the kernel's language in a notebook that does not say it, when it opens it and when the kernel has started.
  // A handout does not keep that.
  function staySaved(model) {
    model.dirty = false;
    model.metadataChanged.connect((_, change) => {
      if (["language_info", "kernelspec"].includes(change.key) && !model.dirty) setTimeout(() => (model.dirty = false));
    });
  }

  function followNotebook(panel, known) {
    const cells = panel.content.model.cells;
    staySaved(panel.content.model);
    const followAll = () => {
      for (const model of cells) {
        if (model.type !== "code" || known.has(model)) continue;
        known.add(model);
        follow(model);
      }
    };
    cells.changed.connect(followAll);
    followAll();
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB["warpfold-cells"] = {
    init: (scope) => {
      shared = scope;
    },
    get: async () => {
      const { INotebookTracker } = await module("@jupyterlab/notebook");
      const plugin = {
        id: "warpfold-cells:language",
        autoStart: true,
        requires: [INotebookTracker],
        activate: (app, tracker) => {
          const known = new WeakSet();
          const add = (panel) => panel.context.ready.then(() => followNotebook(panel, known));
          tracker.forEach(add);
          tracker.widgetAdded.connect((_, panel) => add(panel));
        },
      };
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
