import LuaHost
import Reference
import Testing

/// Annotations for language servers.
@Suite struct AnnotationTests {
    let text = LuaLSAnnotations.api

    @Test func `the file is valid Lua, and declares every type and function`() throws {
        let state = LuaState()
        defer { state.close() }
        _ = try state.load(text, name: "=moonpool.lua")
        #expect(text.hasPrefix("---@meta moonpool\n"))
        #expect(text.hasSuffix("\nreturn moonpool\n"))
        for type in HelpCatalog.types where type.name != "moonpool" && type != HelpCatalog.prompt {
            #expect(text.contains("---@class moonpool.\(type.annotation)"), "\(type.name)")
        }
        #expect(text.contains("---@class moonpool\n"))
        for entry in HelpCatalog.entries(of: HelpCatalog.type(named: "moonpool")!)
        where entry.kind == .function {
            #expect(text.contains("\nfunction moonpool.\(entry.name)("), "\(entry.name)")
        }
    }

    @Test(arguments: [
        "---@overload fun(options: moonpool.OpenOptions): moonpool.Store\nfunction moonpool.open(path) end",
        "---@generic T\n---@param class `T`\n---@param values? table\n---@param mode? \"error\"|\"all\"|\"modified\"\n---@return T\nfunction Store:create(class, values, mode) end",
        "---@class moonpool.Results<T>: { [integer]: T }",
        "---@class moonpool.Map<T>: { [string]: T }",
        "---@field first fun(self: moonpool.Results<T>): T?",
        "---@field where (fun(self: moonpool.Results<T>, predicate: string, ...: any): moonpool.Results<T>)|(fun(self: moonpool.Results<T>, values: table): moonpool.Results<T>)",
        "---@class moonpool.FrozenStore: moonpool.Store", "---@operator len: integer",
        "---@field durability? \"full\"|\"async\"|\"memory\"\n",
        "---@field migration? fun(m: moonpool.Migration) Migrates",
        "---@generic T\n---@param class `T`\n---@param values? table\n---@return T\nfunction moonpool.new(",
        "---@class moonpool.json\n", "---@operator sub(moonpool.Date): number",
        "---@return self\nfunction Object:freeze() end",
        "---@field append fun(self: moonpool.MixedList, ...: any)\n",
    ])
    func `types are written in the notation of the language server`(line: String) {
        #expect(text.contains(line), "\(line)")
    }

    @Test func `the annotated parameters of a function are those of its declaration`() {
        var annotated: [Substring] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("---@param ") {
                let name = line.split(separator: " ")[1]
                annotated.append(name.hasSuffix("?") ? name.dropLast() : name)
            } else if line.hasPrefix("function ") {
                let list = line.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" }
                #expect(list == annotated.joined(separator: ", "), "\(line)")
            }
            if !line.hasPrefix("---") { annotated = [] }
        }
    }

    @Test func `our own tags do not appear`() {
        for tag in ["---@help", "---@shares", "---@writable"] { #expect(!text.contains(tag)) }
    }

    @Test func `every type of the API has its full name`() {
        for line in text.split(separator: "\n")
        where line.hasPrefix("---@param") || line.hasPrefix("---@return") {
            for type in HelpCatalog.types
            where !["json", "csv", "moonpool"].contains(type.annotation) {
                let words = line.split { !$0.isLetter && $0 != "." && $0 != "_" }
                #expect(!words.contains(Substring(type.annotation)), "\(line)")
            }
        }
    }
}
