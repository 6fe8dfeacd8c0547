import Foundation
import Testing

extension StudioPageTests {
    /// The view *History*.
    struct History {
        @Test func `the slider shows earlier versions, their differences, and restores one`() throws
        {
            let folder = try TemporaryFolder()
            try makeZoo(folder, 40)
            try change(folder, "store:object('Dog', 1).age = 50")
            try change(
                folder, "store:object('Dog', 1).age = 51 store:delete(store:object('Dog', 2))")
            try attempt(open(["zoo.moonpool", "--open-to", "Dog"], in: folder)) { browser in
                let age = "cells(one('row', 'Dog 1'))[2]"
                let slider = "one('slider', 'Version')"
                let changes =
                    "[...one('table', 'Changes').querySelectorAll('tbody tr')].map((r) => [...r.children].map((c) => c.textContent).join('|'))"
                try browser.run("one('tab', 'Observers').focus()")
                try browser.type(Browser.right)
                try browser.expect("one('tab', 'History').ariaSelected", "true")
                try browser.expect("\(slider).getAttribute('aria-valuenow')", "6")
                try browser.expect("\(slider).getAttribute('aria-valuemin')", "3")
                try browser.expect(
                    "\(slider).getAttribute('aria-valuetext').startsWith('version 6, ~1 Dog')",
                    "true")
                try browser.expect("one('list', 'Versions').children.length", "4")
                try browser.expect(
                    "one('list', 'Versions').firstChild.textContent.endsWith(' · script~1 Dog  −1 Dog')",
                    "true")
                try browser.expect("all('status', 'Shown version').length", "0")
                try browser.run("\(slider).focus()")
                try browser.type(Browser.left)
                try browser.expect("text('status', 'Shown version')", "version 5, read-only")
                try browser.expect(age, "50")
                try browser.expect("rows().slice(0, 2).map(nameOf)", "Dog 1,Dog 2")
                try browser.expect(changes, "Dog 1|modified|age|50|51,Dog 2|deleted|||")
                try browser.expect("text('complementary', 'Object').includes('50')", "true")
                try browser.expect(focused("role"), "slider")
                try browser.type(Browser.left)
                try browser.expect(age, "1")
                // The address has the version; links stay in it, and nothing can be written.
                try browser.run("one('link', 'Person Ben').click()")
                try browser.expect("one('grid').ariaLabel", "Person")
                try browser.expect("text('status', 'Shown version')", "version 4, read-only")
                try browser.run("history.back()")
                try browser.expect("one('grid').ariaLabel", "Dog")
                try browser.run("one('tab', 'Data').click()")
                try browser.run("location.reload()")
                try browser.expect("text('status', 'Shown version')", "version 4, read-only")
                try browser.expect("one('button', 'Add object').disabled", "true")
                try browser.run("one('grid').focus()")
                try browser.type(Browser.right + "x")
                try browser.expect("all('textbox', 'Edit name').length", "0")
                // Another commit changes neither the shown version nor its rows.
                try browser.run("one('tab', 'History').click()")
                try change(folder, "store:object('Dog', 1).age = 52")
                try browser.expect("\(slider).getAttribute('aria-valuemax')", "7")
                try browser.expect(age, "1")
                try browser.run("one('button', 'Newest').click()")
                try browser.expect(age, "52")
                try browser.expect("all('status', 'Shown version').length", "0")
                try browser.run("one('list', 'Versions').children[1].firstChild.click()")
                try browser.expect("text('status', 'Shown version')", "version 6, read-only")
                try browser.run(
                    "one('combobox', 'Compare with').value = 'before'; one('combobox', 'Compare with').dispatchEvent(new Event('change'))"
                )
                try browser.expect(changes, "Dog 1|modified|age|50|51,Dog 2|deleted|||")
                try browser.run("\(slider).focus()")
                try browser.type(Browser.left + Browser.left)
                try browser.expect(age, "1")
                try browser.run("one('button', 'Restore this version').click()")
                try browser.expect("text('status', 'Notice')", "version 4 restored")
                try browser.expect("all('status', 'Shown version').length", "0")
                try browser.expect(age, "1")
                #expect(try value(folder, "store:object('Dog', 1).age") == "1\n")
                try browser.run("one('button', 'Redo').click()")
                try browser.expect(age, "52")
                // The slider is not a text field.
                try browser.run("\(slider).focus()")
                try browser.type("z", holding: Browser.control)
                try browser.expect(age, "51")
                // An error stays until the next commit.
                try browser.run("one('button', 'Redo').click()")
                try browser.expect(age, "52")
                try browser.run("one('button', 'Redo').click()")
                try browser.expect("all('alert', 'Error').length", "1")
                try change(folder, "store:object('Dog', 1).age = 53")
                try browser.expect("all('alert').length", "0")
                // The schema also belongs to the version, and is read-only then.
                try browser.run("\(slider).focus()")
                try browser.type(Browser.left)
                try browser.expect("all('status', 'Shown version').length", "1")
                try browser.run("one('tab', 'Schema').click()")
                try browser.expect("all('status', 'Shown version').length", "1")
                try browser.expect("all('button', 'Apply').length", "0")
                try browser.run("one('button', 'Show the newest').click()")
                try browser.expect("all('button', 'Apply').length", "1")
            }
        }
    }
}
