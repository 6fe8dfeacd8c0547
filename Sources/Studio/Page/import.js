// Files that are imported: a dialog with a preview, opened by the button or by dropping a file on the page.

import { make, countText, openDialog, showError } from "/elements.js"

/** Opens the dialog; `file` was dropped. `upload` sends a file to the server, and returns its number. */
export function importFile({ connection, upload, file = null, imported }) {
  const chooser = make("input", { type: "file", "aria-label": "File", accept: ".csv,.tsv,.json,.jsonl,.ndjson,.sqlite,.db,.realm,.lua", onchange: () => take(chooser.files[0]) })
  const name = make("input", { type: "text", "aria-label": "Class", spellcheck: "false", autocomplete: "off", onchange: () => preview() })
  const error = make("div")
  const table = make("div", { class: "preview" })
  let [sent, running] = [null, null]
  const request = (fields) => connection.request("import", { ...sent, class: name.value.trim() || undefined, ...fields })
  const take = async (chosen) => {
    if (!chosen) return
    error.replaceChildren()
    button.disabled = true
    try {
      sent = { upload: await upload(chosen), name: chosen.name }
      if (!name.value) name.value = (/^[^.]*/.exec(chosen.name)[0].match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word[0].toUpperCase() + word.slice(1)).join("")
      await preview()
    } catch (failure) {
      showError(error, "Import error", failure)
    }
  }
  const preview = async () => {
    if (!sent) return
    error.replaceChildren()
    try {
      const { classes } = await request({ preview: true })
      table.replaceChildren(...classes.flatMap(({ class: found, count, columns, rows }, index) => [make("p", { class: "dim" }, `${found}: ${countText(count)}`),
        make("table", { class: "list", "aria-label": index ? `Preview of ${found}` : "Preview" },
          make("thead", {}, make("tr", {}, ...columns.map(({ name, type }) => make("th", { scope: "col", title: type }, name)))),
          make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text) => make("td", {}, text))))))]))
      button.disabled = false
    } catch (failure) {
      table.replaceChildren()
      showError(error, "Import error", failure)
    }
  }
  const start = async () => {
    button.disabled = true
    error.replaceChildren()
    try {
      running = request({})
      const { created, updated, notes } = await running
      sent = null
      dialog.close()
      imported(`${countText(created)} imported${updated ? `, ${updated} updated` : ""}${notes.length ? `; ${notes.join("; ")}` : ""}`)
    } catch (failure) {
      if (failure.name !== "AbortError") showError(error, "Import error", failure)
      button.disabled = false
    }
    running = null
  }
  const button = make("button", { class: "primary", disabled: true, onclick: start }, "Import")
  const dialog = openDialog("Import", make("div", { class: "fields" }, make("label", { class: "field" }, make("span", {}, "File"), chooser),
    make("label", { class: "field" }, make("span", { "aria-hidden": "true" }, "Class"), name)), table, error,
  make("div", { class: "buttons" }, make("button", { onclick: () => dialog.close() }, "Cancel"), button))
  dialog.addEventListener("close", () => {
    if (running) connection.end(running.id)
    if (sent) connection.request("import", { ...sent, discard: true }).catch(() => {})
  })
  dialog.classList.add("wide")
  if (file) take(file)
  return dialog
}
