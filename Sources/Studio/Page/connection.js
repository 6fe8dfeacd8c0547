// The WebSocket to the server, and its requests: version 1 of StudioProtocol.md.

const keyName = "moonpool-key"

/** Takes the key from the address, which `GET /?token=…` has put there. */
function takeKey() {
  const found = /^#([\w-]{43})$/.exec(location.hash)
  if (found) {
    sessionStorage.setItem(keyName, found[1])
    history.replaceState(null, "", "/")
  }
  return sessionStorage.getItem(keyName)
}

/** Sends `status` (connected, busy, disconnected), `welcome`, `classes` and `panels` events. */
class Connection extends EventTarget {
  #socket = null
  #key
  #lastId = 0
  #requests = new Map()
  #status = ""
  #early = [] // the events until the page is built
  needsAddress = false
  refusal = null // why the server has refused the page, such as a store that was closed

  constructor(key) {
    super()
    this.#key = key
    setInterval(() => this.#update(), 200)
    setInterval(() => this.#probe(), 1000)
    this.#connect()
  }

  get status() { return this.#status }

  /** Sends the events that have arrived, and the later ones. */
  begin() {
    const early = this.#early
    this.#early = null
    for (const event of early) this.#emit(...event)
  }

  #emit(name, detail) {
    if (this.#early) this.#early.push([name, detail])
    else this.dispatchEvent(new CustomEvent(name, { detail }))
  }

  /** Sends a request; `onEvent` receives the events of its subscription. */
  request(action, fields = {}, onEvent = null) {
    const id = ++this.#lastId
    const promise = new Promise((resolve, reject) => {
      this.#requests.set(id, { resolve, reject, onEvent, since: performance.now(), isOpen: true, action })
      this.#send({ id, do: action, ...fields })
    })
    promise.id = id
    return promise
  }

  /** Sends a file to the server, and returns its number for the request `import`. */
  async upload(file) {
    const response = await fetch("/upload", { method: "POST", headers: { "X-Moonpool-Key": this.#key }, body: file })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()).upload
  }

  /** Ends a subscription or a running request. */
  end(id) {
    const entry = this.#requests.get(id)
    if (!entry) return
    this.#requests.delete(id)
    if (entry.isOpen) entry.reject(new DOMException("canceled", "AbortError"))
    this.request("end", { on: id }).catch(() => {})
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  #connect() {
    const socket = new WebSocket(`ws://${location.host}/socket`)
    this.#socket = socket
    let wasOpen = false
    socket.onopen = async () => {
      wasOpen = true
      const follow = (name) => (event) => this.#emit(name, event)
      try {
        // These requests do not wait for each other. The classes are last, because their events follow the reply.
        const [hello, panels, schema] = await Promise.all([this.request("hello", { key: this.#key, protocol: 1 }),
          this.request("panels", {}, follow("panels")), this.request("schema", {}, follow("classes"))])
        this.needsAddress = false
        this.refusal = null
        this.#update()
        this.#emit("welcome", { ...hello, ...schema, ...panels })
      } catch (error) {
        this.refusal = error.name === "AbortError" ? null : error.message
        socket.close()
      }
    }
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data))
    socket.onclose = async (event) => {
      if (!wasOpen) this.refusal = null
      // Another server at this port refuses the session of the page.
      if (event.code === 1008) this.needsAddress = true
      else if (!wasOpen && !this.needsAddress) this.needsAddress = await fetch("/").then(({ status }) => status === 401, () => false)
      for (const entry of this.#requests.values()) {
        if (entry.isOpen) entry.reject(new DOMException("disconnected", "AbortError"))
      }
      this.#requests.clear()
      this.#update()
      this.#emit("status")
      setTimeout(() => this.#connect(), this.needsAddress ? 5000 : 1000)
    }
  }

  /** Without other requests, shows whether the script answers. */
  #probe() {
    if (this.#status === "connected" && ![...this.#requests.values()].some(({ isOpen }) => isOpen)) this.request("end", { on: 0 }).catch(() => {})
  }

  #receive(message) {
    const id = message.on ?? message.id
    const entry = this.#requests.get(id)
    if (message.is_running) {
      // A worker searches; the script is not busy.
      if (entry) entry.isElsewhere = true
      this.#update()
      return
    }
    if (message.on !== undefined) {
      entry?.onEvent?.(message)
      this.#send({ seen: id, version: message.version })
      return
    }
    if (!entry) return
    entry.isOpen = false
    if (!entry.onEvent || message.error) this.#requests.delete(id)
    if (message.error) entry.reject(Object.assign(new Error(message.error.message), message.error))
    else entry.resolve(message.ok)
    this.#update()
  }

  #update() {
    const waits = [...this.#requests.values()].some((entry) =>
      entry.isOpen && !entry.isElsewhere && !["export", "complete", "interrupt", "rehearse", "import"].includes(entry.action) && performance.now() - entry.since > 400)
    const status = this.#socket?.readyState !== WebSocket.OPEN ? "disconnected" : waits ? "busy" : "connected"
    if (status === this.#status) return
    this.#status = status
    this.#emit("status")
  }
}

const key = takeKey()

/** The connection of the page, which begins before the page is built; null without a key. */
export const connection = key ? new Connection(key) : null
