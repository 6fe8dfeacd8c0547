import Foundation
import ObjectStore
import ScriptHost
import TestSupport
import TestThreads
import Testing

/// The callbacks of a script in addition to those of its stores; each performs every kind of store operation.
@Suite struct CallbackTests {
    private let folder = try! Folder()

    /// The callbacks of a script: error handlers, timers, messages, effects.
    private static let callbacks = """
        local function fail() error "expected" end
        callbacks = {
            on_error = function(s, act)
                moonpool.on_error = act
                local token = s:objects("A"):observe(fail)
                s:refresh()
                s:write(function() s:object("A", 1).n = 9 end)
                s:refresh()
                moonpool.on_error = fail
            end,
            on_error_of_store_observer = function(s, act)
                moonpool.on_error = act
                local token = s:observe(fail)
                s:write(function() s:object("A", 1).n = 9 end)
                moonpool.on_error = fail
            end,
            on_error_of_queued_write = function(s, act)
                local called
                moonpool.on_error = function() called = true act() end
                s:write_async(fail)
                moonpool.wait_until(function() return called end, 20)
                moonpool.on_error = fail
            end,
            timer_in_write = function(s, act)
                local timer = moonpool.after(0, act)
                s:write(function() moonpool.wait_until(function() return not timer.is_active end, 20) end)
            end,
            effect = function(s, act)
                local effect = moonpool.effect(function() local n = s:objects("A"):sum "n" act() end)
                s:write(function() s:object("A", 1).n = 9 end)
                moonpool.sleep(0)
                effect:dispose()
            end,
            computed = function(s, act)
                local total = moonpool.computed(function() act() return s:objects("A"):sum "n" end)
                s:write(function() total() end)
            end,
            aggregate_observer = function(s, act)
                local token = s:objects("A"):observe_aggregate("sum", "n", act)
                s:write(function() s:object("A", 1).n = 9 end)
                s:refresh()
            end,
            nested_observer = function(s, act)
                local token = s:object("A", 1).x[2].k:observe(act)
                s:write(function() s:object("A", 1).x[2].k:append(1) end)
                s:refresh()
            end,
            values_observer = function(s, act)
                local token = s:object("A", 1).x:sorted():observe(act)
                s:write(function() s:object("A", 1).x:append(1) end)
                s:refresh()
            end,
        }
        """

    /// Opens the remaining files of a script and returns the errors in them.
    private func faults(in folder: Folder) throws -> [String] {
        var faults: [String] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where name.hasSuffix(".moonpool") {
            let configuration = StoreConfiguration(
                .file("\(folder.path)/\(name)"), isReadOnly: true)
            let store = try Store(configuration, scheduler: IdleScheduler())
            faults += try store.verify().map { "\(name): \($0)" }
            store.close()
        }
        return faults
    }

    private func run(_ source: String, in folder: Folder, logs lines: [String]) throws {
        let script = try ScriptFixture(
            """
            function options_of(n) return { path = "\(folder.path)/" .. n .. ".moonpool" } end
            function turn() moonpool.sleep(0) end
            function faults() return "" end
            source = [==[\(CallbackMatrix.source)]==]
            load(source)()
            \(source)
            """)
        #expect(script.finish() != nil)
        #expect(script.log == lines)
    }

    @Test(arguments: [
        "on_error", "on_error_of_store_observer", "on_error_of_queued_write", "timer_in_write",
        "effect", "computed", "aggregate_observer", "nested_observer", "values_observer",
    ])
    func `No operation in a callback of a script crashes it or damages a store`(
        callback: String
    ) throws {
        try run(
            "\(Self.callbacks) log(matrix('\(callback)', \(RandomSeeds.count(3, of: 1))) > 0)",
            in: folder, logs: ["true"])
        #expect(try faults(in: folder) == [])
    }

    @Test func `A worker receives and observes lists and maps inside mixed values`() throws {
        try run(
            """
            local s = fresh()
            local x = s:object("A", 1).x
            local w = moonpool.worker("w", function(list, map, inner, values)
                moonpool.post_to_parent(#list, #map.k, #inner, values[1], list:is_frozen())
                moonpool.on_message(function(list) moonpool.post_to_parent(list == nil, list and #list) end)
            end, x, x[2], x[2].k, x:where "SELF == 1")
            local news = {}
            w:on_message(function(...)
                local texts = {}
                for i = 1, select("#", ...) do texts[i] = tostring((select(i, ...))) end
                news[#news + 1] = table.concat(texts, " ")
            end)
            local function next_news(count) assert(moonpool.wait_until(function() return #news >= count end, 60)) return news[count] end
            log(next_news(1))
            local token = x[2].k:observe(function(change)
                moonpool.post_to_parent(change.type, #change.collection, #change.insertions)
            end, { on = w })
            log(next_news(2))
            s:write(function() x[2].k:append(4) end)
            log(next_news(3))
            w:post(x:freeze())
            log(next_news(4))
            token:invalidate()
            w:stop()
            w:join()
            """, in: folder,
            logs: [
                "2 2 2 1 false", "initial 2 0", "update 3 1", "false 2",
            ])
    }

    @Test func `No operation in a worker's observer crashes or damages a store`() throws {
        try run(
            """
            local names = {}
            for name in pairs(operations) do names[#names + 1] = name end
            table.sort(names)
            local called = 0
            moonpool.on_message(function() called = called + 1 end)
            for _, name in ipairs(names) do
                local s = fresh()
                local w = moonpool.worker("w", function(source, name)
                    function options_of() return {} end
                    load(source)()
                    calls, operation = 0, operations[name]
                    moonpool.on_message(function() end)
                end, source, name)
                local token = s:objects("A"):observe(function(change)
                    calls = calls + 1
                    if calls < 4 then pcall(operation, moonpool.store_of(change.collection)) end
                    moonpool.post_to_parent("called")
                end, { on = w })
                local before = called
                assert(moonpool.wait_until(function() return called > before end, 60), name)
                -- The worker may hold the write lock, so a write must not wait for it here.
                local is_done
                s:write_async(function() local a = s:object("A", 2) if a then a.n = 99 end is_done = true end, function() is_done = true end)
                token:invalidate()
                w:stop()
                w:join()
                assert(moonpool.wait_until(function() return is_done end, 60), name)
                s:close()
            end
            log(called >= #names)
            """, in: folder, logs: ["true"])
        #expect(try faults(in: folder) == [])
    }
}

/// A loop without events.
final class IdleScheduler: Scheduler {
    private struct Silent: Wakeup {
        func wake() {}
        func cancel() {}
    }

    var isOnThread: Bool { true }
    var canDeliver: Bool { false }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { Silent() }
}
