import Foundation
import Testing

extension StudioPageTests {
    /// The console.
    struct Console {
        @Test func `the console runs entries, with the output of their observers`() throws {
            try withZoo(["zoo.moonpool", "--open-to", "Dog"], count: 40) { folder, browser in
                func output(_ number: Int) -> String {
                    "one('article', 'Entry \(number)')?.lastChild.textContent"
                }
                try browser.expect("one('region', 'Console').checkVisibility()", "true")
                try enter("local dogs = store:objects('Dog')", in: browser)
                try enter("#dogs", in: browser)
                try browser.expect(output(2), "40\n")
                try enter("_ + 2", in: browser)
                try browser.expect(output(3), "42\n")
                try enter("print('before') error('bad')", in: browser)
                try browser.expect("text('alert', 'Error')", "entry 4:1: bad\n")
                try browser.expect("text('article', 'Entry 4').includes('before')", "true")
                // An unfinished entry gets another line.
                try enter("for i = 1, 2 do", in: browser)
                try browser.expect("one('textbox', 'Lua').value", "for i = 1, 2 do\n")
                try browser.type("print(i) end" + Browser.enter)
                try browser.expect(output(5), "1\n2\n")
                // An observer of the console, a commit of an entry, and one of another process.
                try enter(
                    "token = dogs:where('age > 20'):observe(function(c) print(c.type, #c.insertions) end, { name = 'old dogs' })",
                    in: browser)
                try browser.expect("text('note', 'Output of old dogs')", "old dogsinitial\t0\n")
                try enter(
                    "store:write(function() store:object('Dog', 1).age = 30 end)", in: browser)
                try browser.expect(
                    "one('article', 'Entry 7')?.querySelector('[role=note]')?.textContent",
                    "old dogsupdate\t1\n")
                try browser.expect("cells(one('row', 'Dog 1'))[2]", "30")
                try change(folder, "store:object('Dog', 2).age = 31")
                try browser.expect(
                    "one('log', 'Output').lastChild.textContent", "old dogsupdate\t1\n")
                // An endless entry is stopped, also in a loop of pcall.
                try enter("while true do pcall(function() while true do end end) end", in: browser)
                try browser.expect("text('status', 'Connection')", "busy")
                try browser.run("one('button', 'Stop').click()")
                try browser.expect("text('status', 'Connection')", "connected")
                try browser.expect(output(8) + ".includes('interrupted')", "true")
                // The history, completion and help.
                try browser.run("one('textbox', 'Lua').focus()")
                try browser.type("\u{E013}\u{E013}")
                try browser.expect("one('textbox', 'Lua').value.startsWith('store:write(')", "true")
                try browser.type(Browser.down + Browser.down)
                try browser.expect("one('textbox', 'Lua').value === ''", "true")
                try browser.type("store:objects('D" + Browser.tab)
                try browser.expect(
                    "one('textbox', 'Lua').value.startsWith(\"store:objects('Dog\")", "true")
                try browser.run("one('textbox', 'Lua').value = ''")
                try enter("store:begin_", in: browser)
                try browser.run("one('textbox', 'Lua').value = 'store:at'")
                try browser.type(Browser.end + "\u{E031}")
                try browser.expect(
                    "one('log', 'Output').lastChild.textContent.startsWith('.help at')", "true")
                // Code that replaces what the page uses harms itself only.
                try enter("moonpool = nil string.match = nil", in: browser)
                try browser.run("one('link', 'Person, 5 objects').click()")
                try browser.expect("one('grid').ariaLabel", "Person")
            }
        }

        @Test func `a page stops an endless observer, also if it opens meanwhile`() throws {
            try withZoo(["zoo.moonpool", "--open-to", "Dog"], count: 5) { folder, browser in
                let busy = "text('status', 'Connection')"
                try enter(
                    "token = store:objects('Dog'):observe(function(c) if c.type == 'update' then while true do end end end)",
                    in: browser)
                try browser.expect("all('article', 'Entry 1').length", "1")
                try browser.expect("one('button', 'Stop').disabled", "true")
                // No request of the page waits, but it shows the state.
                try change(folder, "store:object('Dog', 1).age = 30")
                try browser.expect(busy, "busy")
                try browser.expect("one('button', 'Stop').disabled", "false")
                try browser.run("one('button', 'Stop').click()")
                try browser.expect(busy, "connected")
                try browser.expect("one('button', 'Stop').disabled", "true")
                try change(folder, "store:object('Dog', 1).age = 31")
                try browser.expect(busy, "busy")
                try browser.run("location.reload()")
                try browser.expect("one('button', 'Stop')?.disabled", "false")
                try browser.run("one('button', 'Stop').click()")
                try browser.expect("rows().length", "5")
                try browser.expect(busy, "connected")
            }
        }
    }
}
