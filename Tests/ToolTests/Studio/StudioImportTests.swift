import Foundation
import Testing

extension StudioPageTests {
    /// Imports of files.
    struct Imports {
        @Test func `a file is imported after a preview, and an error names the line`() throws {
            let folder = try TemporaryFolder()
            try makeZoo(folder, 20)
            try folder.write("name,age,born\nAnn,7,2020-01-02\nBen,,2021-03-04\n", to: "vets.csv")
            try folder.write(
                "{\"id\":900,\"name\":\"Pip\"}\n{\"id\":901,\"name\":\"Pop\",\"age\":\"old\"}\n",
                to: "dogs.jsonl")
            try attempt(open(["zoo.moonpool"], in: folder)) { browser in
                try browser.run("one('button', 'Import').click()")
                try browser.expect("all('dialog', 'Import').length", "1")
                try browser.choose(folder.path + "/vets.csv", in: "dialog input[type=file]")
                try browser.expect(
                    "[...one('table', 'Preview')?.rows ?? []].map((r) => [...r.cells].map((c) => c.textContent).join('|'))",
                    "name|age|born,Ann|7|2020-01-02T00:00:00Z,Ben|nil|2021-03-04T00:00:00Z")
                try browser.expect("one('textbox', 'Class').value", "Vets")
                // A preview changes nothing.
                try browser.expect("all('link', 'Vets, 2 objects').length", "0")
                try browser.run("one('textbox', 'Class').value = 'Vet'")
                try browser.run(";[...document.querySelectorAll('dialog button')].at(-1).click()")
                try browser.expect("text('status', 'Import')", "2 objects imported")
                try browser.expect("all('dialog').length", "0")
                try browser.expect("all('link', 'Vet, 2 objects').length", "1")
                // An import is one transaction.
                try browser.run("one('button', 'Import').click()")
                try browser.choose(folder.path + "/dogs.jsonl", in: "dialog input[type=file]")
                try browser.expect("one('textbox', 'Class').value", "Dogs")
                try browser.expect("one('table', 'Preview')?.rows.length", "3")
                try browser.run("one('textbox', 'Class').value = 'Dog'")
                try browser.run(";[...document.querySelectorAll('dialog button')].at(-1).click()")
                try browser.expect("text('alert', 'Import error')?.includes('line 2')", "true")
                try browser.expect("all('link', 'Dog, 20 objects').length", "1")
                let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(!left.contains { $0.hasPrefix("upload") })
            }
        }

        @Test func `an upload needs the key of the page`() throws {
            let folder = try TemporaryFolder()
            let studio = try StudioProgram([], in: folder.path)
            let (cookie, key) = try studio.session()
            let origin = "Origin: http://127.0.0.1:\(studio.port)\r\nContent-Length: 0\r\n"
            func status(_ fields: String) throws -> Substring {
                try studio.request("POST /upload", fields).split(separator: " ")[1]
            }
            #expect(try status(cookie + origin) == "401")
            #expect(try status(cookie + origin + "X-Moonpool-Key: \(key)x\r\n") == "401")
            #expect(try status(origin + "X-Moonpool-Key: \(key)\r\n") == "401")
            #expect(try status(cookie + "Content-Length: 0\r\nX-Moonpool-Key: \(key)\r\n") == "403")
            #expect(try status(cookie + origin + "X-Moonpool-Key: \(key)\r\n") == "200")
        }
    }
}
