// The console: entries as at the prompt, and the output of the observers that their commits call.

import { make } from "/elements.js"
import { codeField, colored } from "/lua.js"

class StudioConsole extends HTMLElement {
  #entries = [] // the texts, for the history
  #position = 0
  #draft = ""
  #queue = Promise.resolve()
  #isRunning = false
  #isBusy = false

  connectedCallback() {
    if (this.firstChild) return
    this.setAttribute("role", "region")
    this.setAttribute("aria-label", "Console")
    this.log = make("div", { role: "log", "aria-label": "Output", class: "log", tabindex: "0" })
    this.field = make("textarea", {
      "aria-label": "Lua", rows: "1", spellcheck: "false", autocomplete: "off", autocapitalize: "off", placeholder: "Lua",
      oninput: () => this.#resize(), onkeydown: (event) => this.#key(event), onblur: () => this.#offer([]),
    })
    this.completions = make("ul", { role: "listbox", "aria-label": "Completions", hidden: true })
    this.button = make("button", { class: "primary", onclick: () => this.#run() }, "Run")
    this.stop = make("button", { disabled: true, onclick: () => this.connection.request("interrupt").catch(() => {}) }, "Stop")
    this.append(this.log, make("div", { class: "entry-line" }, make("span", { "aria-hidden": "true", class: "prompt" }, ">"),
      make("div", { class: "entry-field" }, codeField(this.field), this.completions), this.button, this.stop,
      make("button", { onclick: () => this.#save() }, "Save as script")))
  }

  /** Downloads the entries and the changes in the page as a script. */
  async #save() {
    try {
      const { download, name } = await this.connection.request("save")
      make("a", { href: download, download: name }).click()
    } catch (error) {
      if (error.name !== "AbortError") this.#add(this.#late(), [{ kind: "error", text: error.message }])
    }
  }

  focus() { this.field.focus() }

  /** Whether the script does not answer: the code of an observer or of another page can run too long. */
  set isBusy(isBusy) {
    this.#isBusy = isBusy
    this.stop.disabled = !isBusy && !this.#isRunning
  }

  #resize() {
    this.field.rows = Math.min(8, this.field.value.split("\n").length)
    this.#offer([])
  }

  #set(text) {
    this.field.value = text
    this.#resize()
  }

  /** Runs an entry after the entries before it. */
  #run(text = this.field.value) {
    if (!text.trim()) return
    this.#set("")
    this.#queue = this.#queue.then(() => this.#evaluate(text))
  }

  async #evaluate(text) {
    const { connection } = this
    const article = make("article", { "aria-label": "Entry" }, make("pre", { class: "entry" }, ...colored(text)))
    const request = connection.request("evaluate", { text }, (event) => this.#add(event.late ? this.#late() : article, event.parts))
    this.#isRunning = true
    this.stop.disabled = false
    this.log.append(article)
    this.log.scrollTop = this.log.scrollHeight
    try {
      const answer = await request
      if (answer.unfinished) {
        article.remove()
        return this.#set(text + "\n" + this.field.value)
      }
      article.setAttribute("aria-label", `Entry ${answer.number}`)
      while (this.log.children.length > 500) this.log.firstChild.remove()
      this.#add(article, answer.parts)
      if (this.#entries.at(-1) !== text) this.#entries.push(text)
      this.#position = this.#entries.length
    } catch (error) {
      this.#add(article, [{ kind: "error", text: error.name === "AbortError" ? "The connection was lost." : error.message }])
    } finally {
      this.#isRunning = false
      this.stop.disabled = !this.#isBusy
    }
  }

  /** Returns an element at the end of the log for output that no entry has caused. */
  #late() {
    const last = this.log.lastChild
    if (last?.classList.contains("late")) return last
    const element = make("div", { class: "late" })
    this.log.append(element)
    return element
  }

  #add(article, parts) {
    for (const { kind, source, text } of parts) {
      const name = source && `Output of ${source}`
      const last = article.lastChild
      if (last?.dataset?.kind === kind && last.dataset.source === (source ?? "")) last.lastChild.append(text)
      else {
        article.append(make("div", { role: kind === "error" ? "alert" : source ? "note" : null, "aria-label": kind === "error" ? "Error" : name, class: kind, "data-kind": kind,
          "data-source": source ?? "" }, source ? make("span", { class: "source", "aria-hidden": "true" }, source) : null, make("pre", {}, text)))
      }
    }
    this.log.scrollTop = this.log.scrollHeight
  }

  // The field -----------------------------------------------------------------------------------------------------------

  #key(event) {
    if (event.isComposing) return
    const options = [...this.completions.children]
    const index = options.findIndex((option) => option.getAttribute("aria-selected") === "true")
    const { value, selectionStart: cursor } = this.field
    if (event.key === "Escape") {
      if (options.length) this.#offer([])
      else this.field.blur()
    } else if (options.length && ["ArrowDown", "ArrowUp", "Tab"].includes(event.key)) {
      event.preventDefault()
      const step = event.key === "ArrowUp" || event.shiftKey ? options.length - 1 : 1
      const next = options[(Math.max(index, event.key === "ArrowUp" ? 0 : -1) + step) % options.length]
      for (const option of options) option.setAttribute("aria-selected", String(option === next))
      next.scrollIntoView({ block: "nearest" })
    } else if (event.key === "Enter" && index >= 0) {
      event.preventDefault()
      this.#accept(options[index])
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault()
      this.#run()
    } else if (event.key === "Tab" && !event.shiftKey && cursor > 0 && /\S$/.test(value.slice(0, cursor))) {
      event.preventDefault()
      this.#complete()
    } else if (event.key === "F1") {
      event.preventDefault()
      this.#run(`.help ${/[\w.:]*$/.exec(value.slice(0, cursor))[0].split(/[.:]/).at(-1)}`)
    } else if (event.key === "ArrowUp" && !value.slice(0, cursor).includes("\n") && this.#position > 0) {
      event.preventDefault()
      if (this.#position === this.#entries.length) this.#draft = value
      this.#set(this.#entries[--this.#position])
    } else if (event.key === "ArrowDown" && !value.slice(cursor).includes("\n") && this.#position < this.#entries.length) {
      event.preventDefault()
      this.#position++
      this.#set(this.#entries[this.#position] ?? this.#draft)
    }
  }

  async #complete() {
    const before = this.field.value.slice(0, this.field.selectionStart)
    try {
      const { candidates, replacing } = await this.connection.request("complete", { entry: before })
      if (this.field.value.slice(0, this.field.selectionStart) !== before) return
      this.#offer(candidates.map((text) => ({ text, replacing })))
      if (candidates.length === 1) this.#accept(this.completions.firstChild)
    } catch { /* Without completions, the text stays. */ }
  }

  #offer(options) {
    this.completions.replaceChildren(...options.map(({ text, replacing }, index) =>
      make("li", { role: "option", "aria-selected": String(index === 0 && options.length > 1), "data-replaced": replacing, onmousedown: (event) => {
        event.preventDefault()
        this.#accept(event.target)
      } }, text)))
    this.completions.hidden = !options.length
  }

  #accept(option) {
    const end = this.field.selectionStart
    this.field.setRangeText(option.textContent, end - Number(option.dataset.replaced), end, "end")
    this.field.repaint()
    this.#offer([])
  }
}

customElements.define("studio-console", StudioConsole)
