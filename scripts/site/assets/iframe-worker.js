// Browsers start no workers from files. On pages that are opened as files, the worker of the search runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      this.window = frame.contentWindow
      this.window.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = this.window.document.createElement("script")
      this.loaded = new Promise((resolve) => (script.onload = resolve))
      script.src = new URL(url, location)
      this.window.document.head.append(script)
    }
    async postMessage(data) {
      await this.loaded
      this.window.dispatchEvent(new MessageEvent("message", { data }))
    }
  }
}
