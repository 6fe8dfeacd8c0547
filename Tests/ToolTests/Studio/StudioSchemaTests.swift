import Foundation
import Testing

extension StudioPageTests {
    /// The views *Schema* and *Migrations*.
    struct SchemaViews {
        @Test func `a changed schema with losses is planned and becomes a migration`() throws {
            let folder = try TemporaryFolder()
            try makeZoo(folder, 20)
            try folder.make("migrations")
            try attempt(
                open(["zoo.moonpool", "--open-to", "schema"], in: folder, needsRows: false)
            ) { browser in
                try browser.expect(
                    "one('img', 'Schema diagram')?.getAttribute('aria-description').split('\\n')",
                    "Classes: Dog, Person, Toy.,Dog.owner → Person,Dog.toys → Toy")
                try browser.expect("one('textbox', 'Schema').value.length > 100", "true")
                let printed = try Tool.run(["schema", "zoo.moonpool"], in: folder.path).output
                try browser.expect("one('textbox', 'Schema').value", printed)
                let text = try browser.run("return one('textbox', 'Schema').value") as? String ?? ""
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                    .filter { !$0.contains("weight") }.joined(separator: "\n")
                try Stories.setSchema(lines, in: browser)
                try browser.run("one('button', 'Plan').click()")
                try browser.expect(
                    "one('textbox', 'Migration').value.includes('drops = { \"Dog.weight\" }')",
                    "true")
                try browser.expect("all('checkbox').map(nameOf)", "Lose 20 values of Dog.weight")
                try browser.expect("one('button', 'Apply').disabled", "true")
                // The next file of a folder.
                try browser.run("one('button', 'Save migration').click()")
                try browser.expect(StudioPageTests.focused(), "Folder")
                try browser.type("migrations" + Browser.enter)
                try browser.expect("text('status', 'Saved')", "migrations/0001_start.lua written")
                #expect(
                    try String(
                        contentsOfFile: folder.path + "/migrations/0001_start.lua",
                        encoding: .utf8
                    ).contains("Dog = {"))
                try browser.run("one('checkbox').click()")
                try browser.expect("one('button', 'Apply').disabled", "false")
                try browser.run("one('button', 'Apply').click()")
                try browser.expect("all('checkbox').length", "0")
                try browser.expect("one('textbox', 'Schema').value.includes('weight')", "false")
                try browser.run("one('tab', 'Data').click()")
                try browser.expect("all('columnheader').map(nameOf).includes('weight')", "false")
            }
        }

        @Test func `pending migrations are rehearsed on a copy, and applied with a backup`() throws
        {
            let folder = try TemporaryFolder()
            try folder.make("migrations")
            for (name, text) in [
                (
                    "0001_start",
                    "return { schema = { Dog = { id = 'int primary', age = 'int?' } } }"
                ),
                (
                    "0002_older",
                    "return { schema = { Dog = { id = 'int primary', age = 'int?', size = 'int?' } }, up = function(m) "
                        + "m:each('Dog', function(old, new) new.age = old.age + 1 new.size = 7 end) end }"
                ),
                (
                    "0003_drop",
                    "return { schema = { Dog = { id = 'int primary', size = 'int?' } }, drops = { 'Dog.age' } }"
                ),
            ] {
                try folder.write(text, to: "migrations/\(name).lua")
            }
            try Tool.lua(
                "moonpool.migrate.up('kennel.moonpool', { dir = 'migrations', to = 1 }) "
                    + "local store = moonpool.open 'kennel.moonpool' "
                    + "store:write(function() for i = 1, 3 do store:create('Dog', { id = i, age = i }) end end)",
                in: folder.path
            ).expectSuccess()
            try attempt(
                open(["kennel.moonpool", "--open-to", "migrations"], in: folder, needsRows: false)
            ) { browser in
                let rows =
                    "[...one('table', 'Migrations').tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent.split(' ')[0]).join(' '))"
                try browser.expect("one('tab', 'Migrations').ariaSelected", "true")
                try browser.run("one('textbox', 'Folder').focus()")
                try browser.type("missing" + Browser.enter)
                try browser.expect("text('alert', 'Migration error')?.includes('missing')", "true")
                try browser.run("one('textbox', 'Folder').select()")
                try browser.type("migrations" + Browser.enter)
                try browser.expect(rows, "1 start applied,2 older pending,3 drop pending")
                try browser.expect("all('alert', 'Migration error').length", "0")
                try browser.run("one('button', 'Rehearse').click()")
                try browser.expect(
                    "[...one('region', 'Rehearsal').querySelectorAll('table')].map(nameOf)", "Dog")
                try browser.expect(
                    "[...one('table', 'Dog').tBodies[0].rows].slice(0, 2).map((r) => [...r.cells].map((c) => c.textContent).join('|'))",
                    "Dog 1|age|1|dropped,|size||7")
                try browser.expect(
                    "text('region', 'Rehearsal')?.includes('3 values of Dog.age would be dropped')",
                    "true")
                // The store is unchanged.
                try browser.expect(rows, "1 start applied,2 older pending,3 drop pending")
                try browser.run("one('button', 'Apply').click()")
                try browser.expect(
                    "text('status', 'Applied')?.startsWith('2 migrations applied; backup in ')",
                    "true")
                try browser.expect(rows, "1 start applied,2 older applied,3 drop applied")
                try browser.run("one('tab', 'Data').click()")
                try browser.expect("all('columnheader').map(nameOf)", "id,size")
                try browser.expect("cells(one('row', 'Dog 1'))", "1,7")
                // A schema that was changed without a file becomes the next file.
                try enter("store:define { Dog = { '...', name = 'string?' } }", in: browser)
                try browser.expect("all('columnheader').map(nameOf)", "id,size,name")
                try browser.run("one('tab', 'Migrations').click()")
                try browser.run("one('button', 'Plan').click()")
                try browser.expect(
                    "text('region', 'Planned migration')?.startsWith('0004_')", "true")
            }
        }
    }
}
