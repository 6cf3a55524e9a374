// Search from the disk: browsers refuse a Worker whose script is a file, so the script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.url = url;
      this.frame = null;
    }

    start() {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      frame.tabIndex = -1;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = this.url;
      const loaded = new Promise((done) => { script.onload = done; });
      inside.document.body.append(script);
      return loaded.then(() => inside);
    }

    postMessage(data) {
      this.frame ??= this.start();
      this.frame.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {}
  };
}
