// The panels that scripts add with moonpool.studio.panel.

import { make, countText, fragment, isRich, styleOf, textOf } from "/elements.js"

class StudioPanel extends HTMLElement {
  #connection = null
  #name = null
  #subscription = null

  /** Shows a panel and follows it; null ends that. */
  async show(connection, name) {
    if (name === this.#name && connection === this.#connection) return
    if (this.#subscription) this.#connection.end(this.#subscription)
    ;[this.#connection, this.#name, this.#subscription] = [connection, name, null]
    this.replaceChildren()
    if (name === null) return
    const request = connection.request("panel", { name }, (content) => this.#showContent(content))
    this.#subscription = request.id
    try {
      this.#showContent(await request)
    } catch (error) {
      if (error.name !== "AbortError") this.#showContent({ error: error.message })
    }
  }

  /** Forgets the connection, which has ended. */
  stop() { this.#name = this.#subscription = null }

  #showContent({ parts = [], error, has_ended: hasEnded }) {
    const focused = document.activeElement?.closest("studio-panel") ? document.activeElement.textContent : null
    this.replaceChildren(...parts.map((part) => this.#part(part)),
      ...(error ? [make("p", { role: "alert", "aria-label": "Panel error", class: "dialog-error" }, error)] : []),
      ...(hasEnded ? [make("p", { class: "empty" }, "The script has removed this panel.")] : []))
    if (focused !== null) [...this.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus()
  }

  #part({ text, svg, button, number, columns, rows, omitted }) {
    if (svg) return make("img", { src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt: /<title>([^<]*)/.exec(svg)?.[1] ?? "chart" })
    if (button) return make("button", { disabled: !this.canPress, onclick: () => this.#press(number) }, button)
    if (text !== undefined) return make("p", {}, isRich(text) ? textOf(text) : text)
    const cell = (value) => make("td", { class: styleOf(value) }, isRich(value) && value.link
      ? make("a", { href: fragment({ class: value.link, reveal: value.ref }) }, value.text) : textOf(value))
    return make("div", { class: "panel-table" }, make("table", { class: "list" },
      make("thead", {}, make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell))))), omitted > 0 ? make("p", { class: "dim" }, `${countText(omitted)} more`) : null)
  }

  async #press(number) {
    try {
      await this.#connection.request("press", { on: this.#subscription, number })
    } catch (error) {
      if (error.name !== "AbortError") this.append(make("p", { role: "alert", "aria-label": "Panel error", class: "dialog-error" }, error.message))
    }
  }
}

customElements.define("studio-panel", StudioPanel)
