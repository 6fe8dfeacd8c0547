import Foundation
import Testing

extension StudioPageTests {
    /// Writing in the grid, and dialogs that write.
    struct Editing {
        @Test func `a cell is edited in one transaction, never over another value`() throws {
            try withZoo(["zoo.moonpool", "--open-to", "Dog"], count: 20) { folder, browser in
                let age = "cells(one('row', 'Dog 1'))[2]"
                try browser.run("one('grid').focus()")
                try browser.type(Browser.right + Browser.right + Browser.enter)
                try browser.expect("one('textbox', 'Edit age').value", "1")
                try browser.type("x" + Browser.enter)
                try browser.expect("text('alert', 'Edit error')", "expected int, got 'x'")
                try browser.expect("one('textbox', 'Edit age').value", "x")
                try browser.type(Browser.escape)
                try browser.expect("all('alert').length + all('textbox', 'Edit age').length", "0")
                try browser.expect(focused("role"), "grid")
                // A field without changes writes nothing.
                let version = try value(folder, "store.version")
                try browser.type(Browser.f2)
                try browser.expect(focused(), "Edit age")
                try browser.type(Browser.enter)
                try browser.expect(focused("role"), "grid")
                try browser.type("01" + Browser.enter)
                try browser.expect(focused("role"), "grid")
                #expect(try value(folder, "store.version") == version)
                // Typing replaces the value, and Tab continues.
                try keepDescriptions(in: browser)
                try browser.type("7" + Browser.tab)
                try browser.expect(age, "7")
                try browser.expect("descriptions.join()", "was 1")
                try browser.expect(focused(), "Edit weight")
                try browser.type("1.5" + Browser.tab)
                try browser.expect(focused(), "Edit born")
                try browser.type(Browser.enter)
                try browser.expect(focused("role"), "grid")
                #expect(try value(folder, "store.version - \(version)") == "2\n")
                // Another process changes the value during the edit.
                try browser.run(
                    "one('row', 'Dog 1').children[2].dispatchEvent(new MouseEvent('click', { bubbles: true }))"
                )
                try browser.run(
                    "one('row', 'Dog 1').children[2].dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))"
                )
                try browser.expect(focused(), "Edit age")
                try browser.type("10")
                try change(
                    folder, "store:object('Dog', 1).age = 55 store:object('Dog', 1).name = 'New'")
                try browser.expect("cells(one('row', 'Dog 1'))[1]", "New")
                try browser.expect(focused(), "Edit age")
                try browser.type(Browser.enter)
                try browser.expect(
                    "text('alert', 'Edit error')",
                    "the value has been changed meanwhile; it is now 55")
                try browser.expect("one('textbox', 'Edit age').value", "10")
                try browser.type(Browser.escape)
                try browser.expect(age, "55")
                try browser.type(Browser.enter)
                try browser.expect(focused(), "Edit age")
                try browser.type(Browser.delete, holding: Browser.control)
                try browser.expect(age, "nil")
                // A text can be empty, and can have lines; a required one cannot be nil.
                try browser.type(Browser.left + Browser.enter)
                try browser.expect(focused(), "Edit name")
                try browser.type(Browser.delete, holding: Browser.control)
                try browser.expect(
                    "text('alert', 'Edit error')?.startsWith(\"property 'name' of 'Dog' is required\")",
                    "true")
                try browser.run("one('textbox', 'Edit name').value = ''")
                try browser.type(Browser.enter)
                try browser.expect("cells(one('row', 'Dog 1'))[1] === ''", "true")
                try browser.type("a")
                try browser.type(Browser.enter, holding: Browser.shift)
                try browser.type("b" + Browser.enter)
                try browser.expect("cells(one('row', 'Dog 1'))[1] === 'a\\nb'", "true")
                // A primary key cannot change.
                try browser.type(Browser.left + Browser.enter)
                try browser.expect(
                    "all('textbox').filter((e) => nameOf(e).startsWith('Edit')).length", "0")
            }
        }

        @Test func `keys reach the selected object only, wherever the order moves it`() throws {
            let folder = try TemporaryFolder()
            try makeZoo(folder)
            let (studio, browser) = try open(
                ["zoo.moonpool", "--open-to", "Dog where id < 700"], in: folder)
            let selected = "selected()"
            let active = "document.querySelector('.active')?.parentNode.ariaLabel"
            attempt(studio, browser) {
                try browser.run("one('columnheader', 'age').click()")
                try browser.expect("one('columnheader', 'age').ariaSort", "ascending")
                // The object of a row stays selected in another order.
                try browser.expect("one('row', 'Dog 1') === undefined", "true")
                try browser.run("one('grid').focus()")
                try browser.type(Browser.down)
                try browser.expect("\(selected).length", "1")
                try browser.run("one('row', 'Dog 36').click()")
                try browser.expect(selected, "Dog 36")
                // A commit moves the object out of the rows that the page has.
                try change(folder, "store:object('Dog', 36).age = 100")
                try browser.expect("rows().map(nameOf).includes('Dog 36')", "false")
                try browser.expect("text('complementary', 'Object').includes('age100')", "true")
                try browser.type(Browser.down)
                try browser.expect(selected, "Dog 36")
                try browser.expect(active, "Dog 36")
                // A deleted object is replaced by the one in its place.
                try change(folder, "store:delete(store:object('Dog', 36))")
                try browser.expect(
                    "\(selected).length === 1 && \(active) === \(selected)[0]", "true")
                try browser.expect("text('complementary', 'Object').startsWith(\(active))", "true")
            }
        }

        @Test func `a field stays in new results, and ends with its row`() throws {
            let folder = try TemporaryFolder()
            try makeZoo(folder, 20)
            try change(folder, "store:object('Dog', 1).name = 'a\\rb'")
            try attempt(open(["zoo.moonpool", "--open-to", "Dog"], in: folder)) { browser in
                // A text that a field cannot show.
                let version = try value(folder, "store.version")
                try browser.run("one('grid').focus()")
                try browser.type(Browser.right + Browser.f2)
                try browser.expect("all('alert', 'Edit error').length", "1")
                try browser.type(Browser.enter)
                try browser.expect("all('textbox', 'Edit name').length", "0")
                #expect(try value(folder, "store.version") == version)
                // The same place is shown again.
                try browser.type(Browser.right + Browser.f2)
                try browser.expect(focused(), "Edit age")
                try browser.type("77")
                try browser.run("one('tab', 'Data').click()")
                try browser.run("one('textbox', 'Edit age').focus()")
                try browser.type(Browser.enter)
                try browser.expect("cells(one('row', 'Dog 1'))[2]", "77")
                // The schema changes.
                try browser.type(Browser.f2)
                try browser.expect(focused(), "Edit age")
                try browser.type("78")
                let define = """
                    local store = moonpool.open("zoo.moonpool")
                    local schema = store:schema()
                    schema.Dog.color = "string?"
                    store:define(schema)
                    """
                try Tool.run(["-e", define], in: folder.path).expectSuccess()
                try browser.expect("all('columnheader', 'color').length", "1")
                try browser.expect("cells(rows()[1]).length", "9")
                try browser.type(Browser.enter)
                try browser.expect("cells(one('row', 'Dog 1'))[2]", "78")
                // The row disappears: the following keys edit no other object.
                try browser.type(Browser.f2)
                try browser.expect(focused(), "Edit age")
                try browser.type("1")
                let delete = """
                    local store = moonpool.open("zoo.moonpool")
                    store:write(function() store:delete(store:object("Dog", 1)) end)
                    """
                try Tool.run(["-e", delete], in: folder.path).expectSuccess()
                try browser.expect(
                    "text('alert', 'Error')",
                    "age: the row has left this list, and its field was closed")
                try browser.type("9" + Browser.enter)
                try browser.expect("all('textbox').map(nameOf)", "Lua")
                // The page leaves a class that is removed.
                try browser.run("one('link', 'Toy, 8 objects').click()")
                try browser.expect("one('grid').ariaLabel", "Toy")
                let remove = """
                    local store = moonpool.open("zoo.moonpool")
                    local schema = store:schema()
                    schema.Toy, schema.Dog.toys = nil, nil
                    store:define(schema, function(migration) migration:delete_class("Toy") end)
                    """
                try Tool.run(["-e", remove], in: folder.path).expectSuccess()
                try browser.expect("one('grid').ariaLabel", "Dog")
            }
        }

        @Test func `objects are added, linked, deleted, and all of it is undone`() throws {
            try withZoo(["zoo.moonpool", "--open-to", "Dog"], count: 20) { folder, browser in
                let options = "all('option').filter((o) => o.closest('dialog')).map(nameOf)"
                let owner = "cells(one('row', 'Dog 1'))[5]"
                try browser.run("one('grid').focus()")
                for _ in 0..<5 { try browser.type(Browser.right) }
                try browser.type(Browser.enter)
                try browser.expect("all('dialog', 'Choose Person').length", "1")
                try browser.expect(
                    options, "Person Ann,Person Ben,Person Cleo,Person Dan,Person Eva")
                try browser.expect(focused(), "Search")
                try browser.type("cle")
                try browser.expect(options, "Person Cleo")
                try browser.type(Browser.enter)
                try browser.expect(owner, "Person Cleo")
                try browser.expect(focused("role"), "grid")
                try browser.type(Browser.enter)
                try browser.expect(options + ".length", "5")
                try browser.run("one('button', 'None').click()")
                try browser.expect(owner, "nil")
                // A new object and the link to it are one transaction.
                try browser.type(Browser.enter)
                try browser.expect(options + ".length", "5")
                try browser.run("one('button', 'New').click()")
                try browser.expect("all('dialog', 'Add Person').length", "1")
                try browser.type("Ann" + Browser.enter)
                try browser.expect(
                    "text('alert', 'Add error')?.startsWith(\"'Person' already has\")", "true")
                try browser.type("e" + Browser.enter)
                try browser.expect(owner, "Person Anne")
                try browser.expect("all('link', 'Person, 6 objects').length", "1")
                try browser.type("z", holding: Browser.control)
                try browser.expect(owner, "nil")
                try browser.expect("all('link', 'Person, 5 objects').length", "1")
                try browser.run("one('button', 'Redo').click()")
                try browser.expect(owner, "Person Anne")
                // Every property has a field; an untouched one keeps its default.
                try browser.run("one('button', 'Add object').click()")
                try browser.expect(
                    "[...one('dialog', 'Add Dog').querySelectorAll('input')].map(nameOf)",
                    "id,name,age,weight,born,owner,tags,toys")
                try browser.type("1" + Browser.enter)
                try browser.expect("text('alert', 'Add error')?.includes('id = 1')", "true")
                for (name, text) in [
                    ("id", "900"), ("name", "Nova"), ("age", "4"), ("owner", "Ann"),
                    ("tags", #"["x", "y"]"#),
                ] {
                    try browser.run(
                        "one('textbox', '\(name)').focus(); one('textbox', '\(name)').select()")
                    try browser.type(text)
                }
                try browser.run("one('button', 'Add').click()")
                try browser.expect("all('dialog').length", "0")
                try browser.expect(
                    "one('row', 'Dog 900') && cells(one('row', 'Dog 900'))",
                    "900,Nova,4,nil,nil,Person Ann,2 in set: x, y,0 in list")
                try browser.expect("selected()[0]", "Dog 900")
                // Several objects are deleted together.
                try browser.run("one('link', 'Person, 6 objects').click()")
                try browser.expect("one('grid').ariaLabel", "Person")
                try browser.run("one('grid').focus()")
                try browser.type(Browser.down, holding: Browser.shift)
                try browser.expect("selected()", "Person Ann,Person Ben")
                try browser.run("one('button', 'Delete objects').click()")
                try browser.expect(
                    "text('dialog', 'Delete 2 objects')?.includes('Dog.owner, 7 objects')", "true")
                try browser.run("one('button', 'Delete').click()")
                try browser.expect("text('status', 'Rows')", "4 objects")
                try browser.run("one('button', 'Undo').click()")
                try browser.expect("text('status', 'Rows')", "6 objects")
                try browser.expect("text('status', 'Notice')?.endsWith(' undone')", "true")
                #expect(try value(folder, "#store:object('Person', 'Ann').dogs") == "5\n")
                // A selected object that another process deletes leaves the selection.
                try browser.run("one('row', 'Person Ann').children[0].click(); one('grid').focus()")
                for _ in 0..<3 { try browser.type(Browser.down, holding: Browser.shift) }
                try browser.expect("selected().length", "4")
                try change(folder, "store:delete(store:object('Person', 'Ben'))")
                try browser.expect("text('status', 'Rows')", "5 objects")
                try browser.expect("selected().length", "3")
                try browser.run("one('button', 'Delete objects').click()")
                try browser.expect("all('dialog').map(nameOf)", "Delete 3 objects")
            }
        }
    }
}
