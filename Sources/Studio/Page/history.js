// The history: a slider over the kept versions, the list of versions, and the differences between two of them.

import { make, textOf } from "/elements.js"

const mostListed = 100 // versions
const mostRows = 200 // of the changes

const shortTime = (time) => {
  const date = new Date(time)
  const isToday = date.toDateString() === new Date().toDateString()
  return isToday ? date.toLocaleTimeString() : date.toLocaleString()
}

const changesOf = ({ restored, changes_schema: changesSchema, classes }) => [
  ...(restored !== undefined ? [`= version ${restored}`] : []), ...(changesSchema ? ["schema"] : []),
  ...classes.flatMap(({ class: name, inserted, modified, deleted }) =>
    [["+", inserted], ["~", modified], ["−", deleted]].filter(([, count]) => count).map(([sign, count]) => `${sign}${count} ${name}`)),
].join("  ") || "no changes"

/** Sends `show-version` with a version, or null for the newest, and `restore-version`. */
class StudioHistory extends HTMLElement {
  #versions = []
  #kept = [] // the versions that can be shown
  #listed = "" // the versions in the list
  #at = null
  #classes = new Map()
  #connection = null
  #subscription = null
  #asked = null
  #timer = 0

  connectedCallback() {
    if (this.firstChild) return
    this.slider = make("input", { type: "range", role: "slider", "aria-label": "Version", step: "1", oninput: () => {
      clearTimeout(this.#timer)
      this.#mark()
      // The version before can arrive meanwhile, which moves the slider.
      const version = Number(this.slider.value)
      this.#timer = setTimeout(() => this.#show(version), 60)
    } })
    this.label = make("output", { class: "dim", "aria-hidden": "true" })
    this.newest = make("button", { onclick: () => this.#show(null) }, "Newest")
    this.restore = make("button", { onclick: () => this.dispatchEvent(new Event("restore-version")) }, "Restore this version")
    this.list = make("ul", { "aria-label": "Versions", role: "list" })
    this.compared = make("select", { "aria-label": "Compare with", onchange: () => this.#compare() })
    this.body = make("tbody")
    this.count = make("p", { class: "dim" })
    this.append(
      make("div", { class: "bar" }, this.slider, this.label, this.newest, this.restore),
      make("div", { class: "versions" }, this.list,
        make("div", { class: "changes" },
          make("label", {}, "Compare with ", this.compared),
          make("table", { "aria-label": "Changes" },
            make("thead", {}, make("tr", {}, ...["Object", "Change", "Property", "Before", "After"].map((name) => make("th", { scope: "col" }, name)))),
            this.body),
          this.count)))
  }

  /** Follows the versions of the store while the view is open. */
  async start(connection, classes) {
    this.#classes = classes
    if (this.#subscription) return
    this.#connection = connection
    const request = connection.request("versions", {}, (event) => this.#update(event))
    this.#subscription = request.id
    try { this.#update(await request) } catch { this.#subscription = null }
  }

  stop() {
    if (this.#subscription) this.#connection.end(this.#subscription)
    this.#subscription = null
  }

  /** Notes the shown version; null is the newest. */
  set at(version) {
    if (this.#at === version) return
    this.#at = version
    this.#list()
    this.#mark(version)
    this.#compare()
  }

  set canWrite(canWrite) { this.restore.hidden = !canWrite }

  get #newest() { return this.#versions.at(-1)?.number ?? 0 }

  #show(version) {
    this.dispatchEvent(new CustomEvent("show-version", { detail: version === null || version >= this.#newest ? null : version }))
  }

  #update({ versions }) {
    this.#versions = versions
    const kept = this.#kept = versions.filter(({ is_kept: isKept }) => isKept)
    // The shown version stays open after the store has given it up.
    this.slider.min = Math.min(kept[0]?.number ?? this.#newest, this.#at ?? this.#newest)
    this.slider.max = this.#newest
    this.slider.setAttribute("aria-valuemin", this.slider.min)
    this.slider.setAttribute("aria-valuemax", this.slider.max)
    this.#listed = ""
    this.#list()
    this.#mark(this.#at)
    this.#compare()
  }

  /** Lists the newest versions, or those around the shown version. */
  #list() {
    const shown = this.#at === null ? this.#kept.length : this.#kept.findIndex(({ number }) => number === this.#at)
    const end = shown + mostListed > this.#kept.length ? this.#kept.length : Math.max(shown + mostListed / 2, mostListed)
    const versions = this.#kept.slice(Math.max(0, end - mostListed), end).reverse()
    const listed = `${versions[0]?.number} ${versions.length}`
    if (listed === this.#listed) return
    this.#listed = listed
    const hadFocus = this.list.contains(document.activeElement)
    this.list.replaceChildren(...versions.map((version) => make("li", {},
      make("button", { "data-version": version.number, onclick: () => this.#show(version.number) },
        make("span", { class: "number" }, `version ${version.number}`),
        make("span", { class: "dim" }, [version.time && shortTime(version.time), version.script].filter(Boolean).join(" · ")),
        make("span", { class: "made" }, changesOf(version))))))
    if (hadFocus) this.list.querySelector(`[data-version="${this.#at ?? this.#newest}"]`)?.focus()
    const chosen = this.compared.value
    this.compared.replaceChildren(make("option", { value: "" }, "the newest version"), make("option", { value: "before" }, "the version before"),
      ...versions.map(({ number }) => make("option", { value: number }, `version ${number}`)))
    this.compared.value = chosen
    if (this.compared.selectedIndex < 0) this.compared.value = ""
  }

  /** Shows which version the slider names. */
  #mark(version) {
    if (version !== undefined) this.slider.value = version ?? this.#newest
    const number = Number(this.slider.value)
    const found = this.#versions.find((entry) => entry.number === number)
    const text = `version ${number}${found ? `, ${changesOf(found)}${found.time ? `, ${shortTime(found.time)}` : ""}` : ""}`
    this.slider.setAttribute("aria-valuenow", number)
    this.slider.setAttribute("aria-valuetext", text)
    this.label.textContent = `version ${number} of ${this.#newest}`
    this.newest.disabled = this.restore.disabled = this.#at === null
    for (const item of this.list.children) {
      const button = item.firstChild
      if (Number(button.dataset.version) === number) {
        button.setAttribute("aria-current", "true")
        button.scrollIntoView({ block: "nearest" })
      } else {
        button.removeAttribute("aria-current")
      }
    }
  }

  async #compare() {
    if (!this.#subscription) return
    const shown = this.#at ?? this.#newest
    const other = this.compared.value === "" ? this.#newest : this.compared.value === "before" ? shown - 1 : Number(this.compared.value)
    const [first, second] = [Math.min(shown, other), Math.max(shown, other)]
    const request = this.#connection.request("diff", { first, second })
    this.#asked = request
    try {
      const answer = await request
      if (this.#asked === request) this.#showChanges(answer)
    } catch (error) {
      if (this.#asked !== request || error.name === "AbortError") return
      this.body.replaceChildren()
      this.count.textContent = error.message
    }
  }

  #showChanges({ first, second, count, rows: all }) {
    let lines = 0
    const rows = all.filter(({ properties }) => (lines += properties?.length || 1) <= mostRows)
    this.body.replaceChildren(...rows.flatMap(({ class: name, name: object, change, properties }) => {
      const columns = this.#classes.get(name)?.properties ?? []
      const parts = properties?.length ? properties : [{ name: "" }]
      return parts.map((part) => {
        const column = columns.find((found) => found.name === part.name)
        const [before, after] = [part.before, part.after].map((value) => value === undefined ? "" : textOf(value, column))
        return make("tr", { class: change }, make("td", {}, object), make("td", {}, change), make("td", {}, part.name), make("td", {}, before), make("td", {}, after))
      })
    }))
    this.count.textContent = first === second ? "Move the slider, or choose a version to compare with."
      : rows.length === count ? `version ${first} → ${second}: ${count} ${count === 1 ? "object differs" : "objects differ"}`
        : rows.length ? `version ${first} → ${second}: the first ${rows.length} of ${count} objects` : `version ${first} → ${second}: ${count} changes, too many to list`
  }
}

customElements.define("studio-history", StudioHistory)
