// The observers of the script, live: why each was called last, and why not for an object.

import { make, fragment } from "/elements.js"

const duration = (us) => us < 1000 ? `${Math.floor(us)} µs` : us < 1e6 ? `${(us / 1000).toFixed(1)} ms` : `${(us / 1e6).toFixed(2)} s`

const columns = [
  ["Observer", ({ name }) => name], ["Observes", ({ subject }) => subject], ["Key paths", ({ keypaths }) => keypaths.join(", ") || "all"],
  ["Calls", ({ calls }) => calls], ["Last change", ({ version }) => version ?? 0], ["Mean time", ({ mean_us: mean }) => mean], ["Source", ({ source }) => source],
]
const numeric = new Set(["Calls", "Last change", "Mean time"])

/** Returns a tree of { text, children, class, ref }, which the arrow keys walk through. */
function treeOf(name, nodes) {
  const item = ({ text, children = [], class: className, ref }, level) => make("li", {
    role: "treeitem", tabindex: "-1", "aria-label": text, "aria-level": level, "aria-expanded": children.length ? "true" : null,
  }, make("span", { class: "node" }, ref === undefined || ref === null ? text : make("a", { href: fragment({ class: className, reveal: ref }), tabindex: "-1" }, text)),
  children.length ? make("ul", { role: "group" }, ...children.map((child) => item(child, level + 1))) : null)
  const tree = make("ul", { role: "tree", "aria-label": name, class: "tree" }, ...nodes.map((node) => item(node, 1)))
  const expand = (element, isOpen) => element.hasAttribute("aria-expanded") && element.setAttribute("aria-expanded", String(isOpen))
  const focus = (element) => {
    if (!element) return
    for (const other of tree.querySelectorAll("[tabindex='0']")) other.tabIndex = -1
    element.tabIndex = 0
    element.focus()
  }
  tree.addEventListener("keydown", (event) => {
    const current = event.target.closest("[role=treeitem]")
    const shown = [...tree.querySelectorAll("[role=treeitem]")].filter((element) => !element.parentNode.closest("[aria-expanded=false]"))
    const index = shown.indexOf(current)
    const isOpen = current.getAttribute("aria-expanded") === "true"
    const action = {
      ArrowDown: () => focus(shown[index + 1]), ArrowUp: () => focus(shown[index - 1]), Home: () => focus(shown[0]), End: () => focus(shown.at(-1)),
      ArrowRight: () => isOpen ? focus(shown[index + 1]) : expand(current, true),
      ArrowLeft: () => isOpen ? expand(current, false) : focus(current.parentNode.closest("[role=treeitem]")),
      Enter: () => current.querySelector(":scope > .node > a")?.click(),
    }[event.key]
    if (!action) return
    event.preventDefault()
    action()
  })
  tree.addEventListener("click", (event) => {
    const element = event.target.closest("[role=treeitem]")
    if (event.target.closest("a")) return
    if (element) expand(element, element.getAttribute("aria-expanded") !== "true")
    focus(element)
  })
  tree.querySelector("[role=treeitem]").tabIndex = 0
  return tree
}

class StudioObservers extends HTMLElement {
  #observers = []
  #sort = { column: null, isDescending: false }
  #connection = null
  #timer = 0
  #shown = null // the observer of the region, and what it shows

  connectedCallback() {
    if (this.firstChild) return
    this.heads = columns.map(([name]) => make("th", { scope: "col", class: numeric.has(name) ? "number" : null },
      make("button", { class: "head", onclick: () => this.#sortBy(name) }, name)))
    this.body = make("tbody")
    this.table = make("table", { "aria-label": "Observers", class: "list observers" }, make("thead", {}, make("tr", {}, ...this.heads, make("td"))), this.body)
    this.empty = make("p", { class: "empty" }, "The script has no observers. Register one with results:observe(fn).")
    this.place = make("div", { class: "reasons" })
    this.append(make("div", { class: "observer-list" }, this.table, this.empty), this.place)
  }

  /** Follows the observers while the view is open; `selected` returns the name of the selected object. */
  start(connection, selected) {
    this.#connection = connection
    this.selected = selected
    if (!this.#timer) this.#follow()
  }

  stop() {
    clearTimeout(this.#timer)
    this.#timer = 0
  }

  async #follow() {
    this.#timer = -1
    try { this.#show((await this.#connection.request("observers")).observers) } catch { /* The connection was lost, and is tried again. */ }
    if (this.#timer) this.#timer = setTimeout(() => this.#follow(), 250)
  }

  #sortBy(column) {
    const isSame = this.#sort.column === column
    this.#sort = { column, isDescending: isSame ? !this.#sort.isDescending : numeric.has(column) }
    this.#show(this.#observers)
  }

  #show(observers) {
    const before = new Map(this.#observers.map((observer) => [observer.number, observer]))
    this.#observers = observers
    const { column, isDescending } = this.#sort
    const value = columns.find(([name]) => name === column)?.[1]
    const sorted = value ? [...observers].sort((a, b) => {
      const [x, y] = [value(a), value(b)]
      return (x < y ? -1 : x > y ? 1 : 0) * (isDescending ? -1 : 1)
    }) : observers
    this.heads.forEach((head, index) => {
      if (columns[index][0] === column) head.setAttribute("aria-sort", isDescending ? "descending" : "ascending")
      else head.removeAttribute("aria-sort")
    })
    const rows = new Map([...this.body.children].map((row) => [Number(row.dataset.number), row]))
    const shown = sorted.map((observer) => {
      const row = rows.get(observer.number) ?? this.#row(observer)
      const old = before.get(observer.number)
      this.#fill(row, observer)
      if (old && observer.calls > old.calls) {
        row.classList.remove("called")
        void row.offsetWidth // restarts the animation
        row.classList.add("called")
        if (this.#shown?.number === observer.number && this.#shown.action === "why") this.#why(observer)
      }
      return row
    })
    // Rows stay where they are, because one of their buttons can have the focus.
    if (shown.length !== this.body.children.length || shown.some((row, index) => this.body.children[index] !== row)) {
      const focus = this.body.contains(document.activeElement) ? document.activeElement : null
      this.body.replaceChildren(...shown)
      focus?.focus()
    }
    this.empty.hidden = observers.length > 0
  }

  #row(observer) {
    return make("tr", { "data-number": observer.number }, ...columns.map(([name]) =>
      make("td", { "data-column": name, class: numeric.has(name) ? "number" : null })), make("td", { class: "actions" },
      make("button", { class: "small", "aria-label": `Why ${observer.name}`, onclick: () => this.#why(observer) }, "Why"),
      make("button", { class: "small", "aria-label": `Why not ${observer.name}`, onclick: () => this.#whyNot(observer) }, "Why not")))
  }

  #fill(row, observer) {
    columns.forEach(([name, value], index) => {
      const found = value(observer)
      const text = name === "Mean time" ? observer.is_running ? "running" : observer.calls ? duration(found) : "–"
        : name === "Last change" ? found ? `version ${found}` : "–" : String(found)
      const cell = row.children[index]
      if (cell.textContent !== text) cell.textContent = text
    })
  }

  #region(action, observer, title, ...children) {
    this.#shown = { action, number: observer.number }
    const close = make("button", { class: "small", onclick: () => {
      this.#shown = null
      this.place.replaceChildren()
      this.body.querySelector(`[data-number="${observer.number}"] button`)?.focus()
    } }, "Close")
    this.place.replaceChildren(make("section", { role: "region", "aria-label": title }, make("div", { class: "region-head" }, make("h2", {}, title), close), ...children))
  }

  async #why(observer) {
    const title = `Why ${observer.name}`
    try {
      const { tree } = await this.#connection.request("why", { observer: observer.number })
      this.#region("why", observer, title, tree ? treeOf("Last call", tree) : make("p", { class: "empty" }, "It has not been called for a change yet."))
    } catch (error) {
      if (error.name !== "AbortError") this.#region("why", observer, title, make("p", { role: "alert", class: "dialog-error" }, error.message))
    }
  }

  #whyNot(observer) {
    const field = make("input", {
      type: "text", "aria-label": "Object", value: this.selected?.() ?? "", placeholder: "Dog 3", spellcheck: "false", autocomplete: "off",
    })
    const result = make("div", { role: "status", "aria-label": "Explanation", class: "explanation" })
    const explain = async (event) => {
      event.preventDefault()
      try {
        const { name, class: className, ref, reasons, summary } = await this.#connection.request("whynot", { observer: observer.number, object: field.value })
        result.replaceChildren(make("p", {}, make("a", { href: fragment({ class: className, reveal: ref }) }, name)),
          make("ul", {}, ...reasons.map(({ kind, holds, text, remark }) => make("li", { class: holds ? "holds" : "fails" },
            make("span", { class: "mark", "aria-label": holds ? "true" : "false", role: "img" }, holds ? "✓" : "✗"), make("span", { class: "kind" }, kind),
            make("span", {}, make("code", {}, text), remark ? make("span", { class: "dim" }, ` ${remark}`) : null)))),
          make("p", { class: "summary" }, summary))
      } catch (error) {
        if (error.name !== "AbortError") result.replaceChildren(make("p", { role: "alert", class: "dialog-error" }, error.message))
      }
    }
    this.#region("whynot", observer, `Why not ${observer.name}`,
      make("form", { class: "ask", onsubmit: explain }, field, make("button", { class: "primary", type: "submit" }, "Explain")), result)
    field.select()
    field.focus()
  }
}

customElements.define("studio-observers", StudioObservers)
