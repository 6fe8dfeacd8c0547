import Glibc
import TestThreads
import Testing

@testable import REPL

@Suite struct ReloadTests {
    private let session: TestSession
    private let folder: TemporaryFolder

    init() throws {
        session = try TestSession()
        folder = try TemporaryFolder()
        _ = try session.run("package.path = '\(folder.path)/?.lua'")
        _ = try session.run("store:define { Dog = { name = 'string' } } dogs = store:objects 'Dog'")
        _ = try session.run(
            "function add() store:write(function() store:create('Dog', { name = '' }) end) store:refresh() end"
        )
    }

    private func write(_ text: String, to name: String = "kennel.lua") throws {
        try folder.write(text, to: name)
    }

    private func kennel(_ answer: String, more: String = "") -> String {
        """
        local M = { answer = \(answer) }
        function M.ask() return M.answer end
        M.token = dogs:observe(function(c) print(M.answer .. " " .. c.type) end, { name = "watcher" })
        M.timer = moonpool.after(1000, function() end)
        \(more)
        return M
        """
    }

    private func observers() throws -> Int {
        try session.with { $0.context.storeModule.activeTokens.count }
    }

    @Test func `a changed module is run again, and its observers replace the old ones`() throws {
        try write(kennel("'one'"))
        _ = try session.run("m = require 'kennel' store:refresh()")
        #expect(try session.run(".reload").contains("no module has changed"))
        #expect(try session.run("add()") == "one update")
        try write(kennel("'the second'"))
        #expect(try session.run(".reload").contains("reloaded kennel; 1 observer in place of 1"))
        #expect(try session.run(".reload").contains("no module has changed"))
        // Existing references to the module's table contain the new functions, which use the same table.
        #expect(try session.run("m.ask(), m == require 'kennel'") == "\"the second\"\ntrue")
        _ = try session.run("m.answer = 'mine' store:refresh()")
        #expect(try session.run("m.ask()") == "\"mine\"")
        #expect(try session.run("add()") == "mine update")
        #expect(try observers() == 1)
        #expect(try session.with { $0.context.activeTimers.count } == 1)
    }

    @Test(arguments: ["x = = 1", "error('no')", "nothing.x = 1"])
    func `a file with an error keeps the old observers`(_ mistake: String) throws {
        try write(kennel("'one'"))
        _ = try session.run("m = require 'kennel' store:refresh()")
        try write(kennel("'two'", more: mistake))
        let text = try session.run(".reload kennel")
        #expect(text.contains("kennel.lua:5:"), "\(text)")
        #expect(text.hasSuffix("kennel is unchanged, with its observers"), "\(text)")
        #expect(try observers() == 1)
        #expect(try session.with { $0.context.activeTimers.count } == 1)
        #expect(try session.run("add()") == "one update")
        #expect(try session.run("m.ask()") == "\"one\"")
        try write(kennel("'three'"))
        #expect(try session.run(".reload").contains("reloaded kennel; 1 observer in place of 1"))
        _ = try session.run("store:refresh()")
        #expect(try session.run("add()") == "three update")
    }

    @Test func `a loaded file is run again as well`() throws {
        let path = folder.path + "/script.lua"
        try write("token = dogs:observe(function(c) print('a', c.type) end)", to: "script.lua")
        _ = try session.run(".load \(path)")
        try write("token = dogs:observe(function(c) print('bb', c.type) end)", to: "script.lua")
        // The output of starting the observers may precede it.
        #expect(try session.run(".reload").contains("reloaded \(path); 1 observer in place of 1"))
        _ = try session.run("store:refresh()")
        #expect(try session.run("add()") == "bb\tupdate")
    }

    @Test func `observers released by a failed run continue, globals keep values`() throws {
        let observing = "token = dogs:observe(function(c) print('WORD', c.type) end)"
        try write("limit = 1\n" + observing.replacing("WORD", with: "old"))
        _ = try session.run("require 'kennel' store:refresh()")
        try write("return 1", to: "other.lua")
        try write(
            "limit, extra = 2, 3\nrequire 'other'\n" + observing.replacing("WORD", with: "new")
                + "\nerror 'half way'")
        #expect(try session.run(".reload").contains("half way"))
        _ = try session.run("collectgarbage() collectgarbage()")
        #expect(
            try session.run("limit, extra, token.is_valid, package.loaded.other")
                == "1\nnil\ntrue\nnil")
        #expect(try session.run("add()") == "old\tupdate")
        try write(observing.replacing("WORD", with: "third"))
        #expect(try session.run(".reload").contains("1 observer in place of 1"))
        _ = try session.run("store:refresh()")
        #expect(try session.run("collectgarbage() add()") == "third\tupdate")
    }

    @Test func `locals of a loaded file hold its observers after a reload too`() throws {
        let path = folder.path + "/script.lua"
        func write(_ word: String) throws {
            try self.write(
                "local token, word = dogs:observe(function(c) print('\(word)', c.type) end), '\(word)'",
                to: "script.lua")
        }
        try write("one")
        _ = try session.run(".load \(path)")
        try write("second")
        _ = try session.run(".reload")
        _ = try session.run("collectgarbage() collectgarbage() store:refresh()")
        #expect(try session.run("add()") == "second\tupdate")
        #expect(try session.run("word") == "\"second\"")
    }

    @Test func `required modules are reloaded before the requiring ones`() throws {
        try write("return { name = function() return 'b1' end }", to: "b.lua")
        try write("local b = require('b')\nreturn { text = b.name() }", to: "a.lua")
        _ = try session.run("a = require 'a'")
        try write("return { title = function() return 'b two' end }", to: "b.lua")
        try write("local b = require('b')\nreturn { text = b.title() }", to: "a.lua")
        #expect(try session.run(".reload") == "reloaded b\nreloaded a")
        #expect(try session.run("a.text") == "\"b two\"")
        // Modules that require each other are reloaded one after the other.
        try write("local a = package.loaded.a or require 'a'\nreturn { x = 1 }", to: "b.lua")
        try write("local b = package.loaded.b or require [[b]]\nreturn { y = 1 }", to: "a.lua")
        #expect(try session.run(".reload") == "reloaded a\nreloaded b")
    }

    @Test func `with reload on, files are reloaded when they are written`() throws {
        try write(kennel("'one'"))
        _ = try session.run("m = require 'kennel' store:refresh()")
        #expect(try session.run(".reload on").hasPrefix("modules and loaded files are reloaded"))
        try write(kennel("'the second'"))
        try session.wait(forShown: "reloaded kennel; 1 observer in place of 1")
        _ = try session.run("store:refresh()")
        #expect(try session.run("add()") == "the second update")
        // An invalid file is reported once, regardless of other changes in its folder.
        try write("x = = 1")
        try session.wait(forShown: "kennel is unchanged, with its observers")
        _ = try session.run("1")
        try write("return {}", to: "other.lua")
        _ = try session.run("require 'other'")
        try write("return { 1 }", to: "other.lua")
        #expect(!(try session.wait(forShown: "reloaded other").contains("kennel")))
        #expect(try session.run("add()") == "the second update")
        try write(kennel("'third'"))
        try session.wait(forShown: "reloaded kennel; 1 observer in place of 1")
        _ = try session.run("store:refresh()")
        // A file that changes while an entry runs is reloaded after the entry.
        try session.with { session in
            session.context.state.globals["reload_is_due"] = .function(
                session.context.state.makeFunction("reload_is_due") { [weak session] call in
                    call.answer(session?.fileStates["reload"]?["is_due"] ?? .nil)
                })
        }
        let seen = try session.run(
            """
            local f <close> = io.open("\(folder.path)/other.lua", "w")
            f:write "return { 2, 3 }"
            f:close()
            assert(moonpool.wait_until(reload_is_due, 20))
            print(#require "other")
            """)
        #expect(seen == "1")
        try session.wait(forShown: "reloaded other")
        #expect(try session.run("#require 'other'") == "2")
        _ = try session.run(".reload off")
        try write(kennel("'fourth'"))
        #expect(try session.run("return m.ask()") == "\"third\"")
        #expect(try session.complete(".reload o") == ["off", "on", "other"])
    }

    @Test func `Ctrl-C in a reload keeps the old observers`() throws {
        try write(kennel("'one'"))
        _ = try session.run("m = require 'kennel' store:refresh()")
        try write(kennel("'two'", more: "print 'begun' while true do end"))
        let text = try session.runAndInterrupt(".reload kennel")
        #expect(text.contains("interrupted"), "\(text)")
        #expect(text.hasSuffix("kennel is unchanged, with its observers\n"), "\(text)")
        #expect(try observers() == 1)
        #expect(try session.with { $0.context.activeTimers.count } == 1)
        #expect(try session.run("add()") == "one update")
    }

    @Test func `an error of a module has its traceback without that of the prompt`() throws {
        try write("return 1")
        _ = try session.run("require 'kennel'")
        try write("local function f() error 'deep' end\nlocal function g() f() end\ng()")
        let text = try session.run(".reload")
        #expect(text.contains("kennel.lua:3: in main chunk\nkennel is unchanged"), "\(text)")
        #expect(!text.contains("[C]") && !text.contains("[moonpool"), "\(text)")
    }

    @Test func `a module that was never loaded is reported`() throws {
        #expect(try session.run(".reload nothing") == "no module 'nothing' was loaded from a file")
        try write("return 1")
        _ = try session.run("require 'kennel'")
        #expect(try session.run(".reload kenel").hasSuffix("did you mean 'kennel'?"))
        #expect(try session.complete(".reload ke") == ["kennel"])
        #expect(unlink(folder.file("kennel.lua")) == 0)
        #expect(try session.run(".reload kennel").hasPrefix("cannot read "))
    }
}
