// Browsers refuse workers to pages that are opened from a file. The search then runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((resolve, reject) => {
        this.frame.onload = () => {
          const inside = this.frame.contentWindow;
          inside.postMessage = (sent) => {
            const data = structuredClone(sent); // neither side may change what the other keeps
            setTimeout(() => this.onmessage?.({ data }));
          };
          const script = inside.document.createElement("script");
          script.onload = () => resolve(inside);
          script.onerror = reject;
          script.src = url;
          inside.document.head.append(script);
        };
      });
      document.body.append(this.frame);
    }
    postMessage(sent) {
      const data = structuredClone(sent);
      this.ready.then((inside) => inside.onmessage({ data }), (error) => this.onerror?.(error));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
