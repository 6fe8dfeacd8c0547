import MemoryAccounts
import NATSReplication
import Replication
import ScriptHost
import Synchronization
import TestServers
import Testing

/// Services that answer requests over a NATS server.
@Suite(.enabled(if: NatsServer.isInstalled, NatsServer.missing))
struct ServiceTests {
    private let server: NatsServer

    init() throws { server = try NatsServer() }

    /// A script with a connected service.
    private func serve(
        _ handler: String, subject: String = "zoo.test", before: String = ""
    ) throws -> ScriptFixture {
        let script = try ScriptFixture(
            """
            \(before)
            service = moonpool.serve {
              url = "\(server.address)", subject = "\(subject)", handler = function(request) \(handler) end,
            }
            moonpool.wait_until(function() return service.is_connected end, 60)
            log "serving"
            """)
        #expect(script.logs("serving"), "\(script.log)")
        return script
    }

    /// Runs a script with a function `ask(body, timeout)`; returns what it logs.
    private func ask(
        _ source: String, subject: String = "zoo.test"
    ) throws -> [String] {
        let script = try expectScript(
            """
            function ask(body, timeout)
              return moonpool.request {
                url = "\(server.address)", subject = "\(subject)", body = body, timeout = timeout or 60,
              }
            end
            function fail(body, timeout)
              local ok, err = pcall(ask, body, timeout)
              if ok then return "nothing was wrong" end
              return err.code .. ": " .. err.message
            end
            \(source)
            """)
        return script.log
    }

    private func end(_ script: ScriptFixture) {
        script.script.finish()
        #expect(script.finish() == 0)
    }

    @Test func `the reply is the result of the handler`() throws {
        let script = try serve(
            """
            if request.body == nil then return nil end
            return { subject = request.subject, list = { request.body.name, 2.5, true }, day = moonpool.date(0) }
            """)
        let log = try ask(
            """
            local reply = ask { name = "Rex" }
            log(reply.subject)
            log(table.concat({ reply.list[1], reply.list[2], tostring(reply.list[3]) }, " "))
            log(reply.day)
            log(ask(nil))
            """)
        #expect(log == ["zoo.test", "Rex 2.5 true", "1970-01-01T00:00:00Z", "nil"])
        #expect(script.reports.isEmpty)
        end(script)
    }

    @Test func `a handler writes to its store, and its errors are sent with their codes`() throws {
        let script = try serve(
            """
            if request.body.refuse then error { code = "not_allowed", message = "no\\nmore" } end
            if request.body.bug then return request.body.bug.bug.bug end
            if request.body.odd then return print end
            return store:write(function() return store:create("Dog", request.body) end)
            """,
            before: """
                store = moonpool.open { in_memory = "zoo", schema = { Dog = { id = "int primary", name = "string" } } }
                """)
        let log = try ask(
            """
            log(ask({ id = 1, name = "Rex" }).name)
            log((fail { id = 1, name = "Rex" }):match("^duplicate_key: "))
            log((fail { id = 2, nam = "Rex" }):match("^unknown_property: "))
            log(fail { refuse = true })
            log((fail { bug = true }):match("^error: script:%d+: attempt to index") and "a bug")
            log((fail { odd = true }):match("^invalid_argument: JSON cannot represent a function"))
            log(ask({ id = 2, name = "Max" }).id)
            """)
        #expect(
            log == [
                "Rex", "duplicate_key: ", "unknown_property: ", "not_allowed: no\nmore",
                "a bug",
                "invalid_argument: JSON cannot represent a function", "2",
            ])
        // Only the error without a code is an error of the script.
        #expect(script.reports.count == 1)
        #expect(script.reports.first?.source == "the service 'zoo.test'")
        end(script)
    }

    @Test func `requests are handled one at a time, in order, also while the handler waits`() throws
    {
        let script = try serve(
            """
            log("begin " .. request.body)
            moonpool.sleep(0.02)
            log("end " .. request.body)
            return request.body
            """)
        let log = try ask(
            """
            local count, replies = 4, {}
            for number = 1, count do
              moonpool.after(0.001, function()
                local reply = ask(number)
                table.insert(replies, reply)
              end)
            end
            moonpool.wait_until(function() return #replies == count end, 60)
            log(#replies)
            """)
        #expect(log == ["4"])
        let events = script.log.dropFirst()
        #expect(events.count == 8)
        for index in stride(from: events.startIndex, to: events.endIndex, by: 2) {
            let number = events[index].dropFirst("begin ".count)
            #expect(events[index + 1] == "end \(number)")
        }
        end(script)
    }

    @Test func `a request without a reply in time is an error`() throws {
        let script = try serve("moonpool.wait_until(function() end) return 1")
        let log = try ask("log(fail(1, 0.25))")
        #expect(
            log == [
                "timed_out: the service 'zoo.test' did not reply within 0.25 s; it may still handle the request later"
            ])
        script.script.kill()
        #expect(script.finish() == 0)
    }

    @Test func `a subject without a service and an unreachable server are errors`() throws {
        let log = try ask(
            """
            log(fail(1))
            local ok, err = pcall(moonpool.request, { url = "nats://me:secret@127.0.0.1:1", subject = "x" })
            log(err.code)
            log(err.message:match("^cannot connect to nats://127%.0%.0%.1:1") or err.message)
            """)
        #expect(
            log == [
                "unavailable: no service answers requests to 'zoo.test'", "unavailable",
                "cannot connect to nats://127.0.0.1:1",
            ])
    }

    @Test func `a service keeps its script running until it is stopped`() throws {
        let script = try serve(
            """
            moonpool.after(0, function() service:stop() log(tostring(service)) log(service.requests) end)
            return "stopping"
            """)
        #expect(!script.script.hasEnded)
        #expect(try ask("log(ask(1))") == ["stopping"])
        #expect(script.finish() == 0)
        #expect(script.log == ["serving", "service 'zoo.test' (stopped)", "1"])
        #expect(try ask("log(fail(1):match('^%w+'))") == ["unavailable"])
    }

    @Test func `a stopping service refuses waiting requests`() throws {
        let script = try serve(
            """
            service:stop()
            return "late"
            """)
        let log = try ask(
            """
            local replies = {}
            for number = 1, 3 do
              moonpool.after(0, function()
                local ok, err = pcall(ask, number)
                table.insert(replies, ok and err or err.code)
              end)
            end
            moonpool.wait_until(function() return #replies == 3 end, 60)
            table.sort(replies)
            log(table.concat(replies, " "))
            """)
        #expect(log == ["late unavailable unavailable"])
        #expect(script.finish() == 0)
    }

    @Test func `two services of a subject divide its requests`() throws {
        let scripts = try (1...2).map { try serve("log \"one\" return \($0)") }
        let log = try ask(
            """
            local seen = { 0, 0 }
            for number = 1, 200 do
              local by = ask(number)
              seen[by] = seen[by] + 1
            end
            log(seen[1] + seen[2])
            log(seen[1] > 0 and seen[2] > 0)
            """)
        #expect(log == ["200", "true"])
        let handled = scripts.map { $0.log.count - 1 }
        #expect(handled.reduce(0, +) == 200)
        for script in scripts { end(script) }
    }

    @Test func `a service and its requesters connect again to a restarted server`() throws {
        let script = try serve("return request.body + 1")
        let asking = try ScriptFixture(
            """
            local function ask()
              local ok, reply = pcall(moonpool.request, { url = "\(server.address)", subject = "zoo.test", body = 1 })
              return ok and reply
            end
            log(ask())
            moonpool.wait_until(function() return not ask() end, 60)
            log "away"
            moonpool.wait_until(ask, 60)
            log(ask())
            """)
        #expect(asking.logs("2"))
        server.stop()
        #expect(asking.logs("away"))
        try server.start()
        #expect(asking.finish() == 0, "\(asking.log)")
        #expect(asking.log == ["2", "away", "2"])
        #expect(script.reports.contains { $0.message.contains("trying again in") })
        end(script)
    }

    @Test func `requests and replies that exceed the limit of the server are errors`() throws {
        let script = try serve("return ('x'):rep(2 << 20)")
        let log = try ask(
            """
            log((fail(("x"):rep(2 << 20)):gsub("%d+", "N")))
            log((fail(1):gsub("%d+", "N")))
            """)
        #expect(
            log == [
                "limit_exceeded: the request has N bytes, but the NATS server allows N",
                "limit_exceeded: the reply has N bytes, but the NATS server allows N",
            ])
        end(script)
    }

    @Test func `requests that wait for answers have a limited part of the memory`() throws {
        let account = MemoryAccount(limit: 1 << 20)
        let body = [UInt8](repeating: 0x31, count: 10_000)
        let held = Mutex<[any ReceivedRequest]>([])
        let maximum = Mutex(0)
        let service = try NatsRequestServer(
            NatsOptions(server.address), subject: "zoo.many", account: account
        ) { request in
            let count = held.withLock {
                $0.append(request)
                return $0.count
            }
            maximum.withLock { $0 = max($0, count * body.count) }
        }
        #expect(eventually { service.isConnected })
        let client = NatsRequestClient(NatsOptions(server.address))
        let answered = Mutex(0)
        for _ in 0..<18 {
            try client.send("zoo.many", body: body, within: .seconds(60)) { result in
                if case .success = result { answered.withLock { $0 += 1 } }
            }
        }
        let window = account.limit / 8
        #expect(eventually { held.withLock { $0.count } > window / body.count })
        #expect(
            eventually {
                let request = held.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                request?.answer(Array("true".utf8))
                return answered.withLock { $0 } == 18
            })
        service.stop()
        client.close()
        #expect(maximum.withLock { $0 } > window / 2)
        #expect(maximum.withLock { $0 } <= window + body.count)
    }

    @Test func `a service that drops requests reports it, and answers later ones`() throws {
        let reports = Mutex<[String]>([])
        let held = Mutex<[any ReceivedRequest]>([])
        let isBusy = Mutex(true)
        let service = try NatsRequestServer(
            NatsOptions(server.address), subject: "zoo.busy",
            account: MemoryAccount(limit: 1 << 20),
            report: { text in reports.withLock { $0.append(text) } }
        ) { request in
            guard isBusy.withLock({ $0 }) else { return request.answer(Array("true".utf8)) }
            held.withLock { $0.append(request) }
        }
        #expect(eventually { service.isConnected })
        let client = NatsRequestClient(NatsOptions(server.address))
        let ends = Mutex(0)
        // More than the service and the library have space for.
        for _ in 0..<40 {
            let body = [UInt8](repeating: 0x31, count: 100_000)
            try client.send("zoo.busy", body: body, within: .seconds(3)) { _ in
                ends.withLock { $0 += 1 }
            }
        }
        #expect(eventually { ends.withLock { $0 } == 40 })
        isBusy.withLock { $0 = false }
        for request in held.withLock({ $0 }) { request.answer([]) }
        let answer = Mutex<[UInt8]>([])
        try client.send("zoo.busy", body: [0x31], within: .seconds(60)) { result in
            answer.withLock { $0 = (try? result.get()) ?? [] }
        }
        #expect(eventually { answer.withLock { $0 } == Array("true".utf8) })
        // The library reports the loss on another thread.
        let dropped = "requests to 'zoo.busy' were dropped"
        #expect(eventually { reports.withLock { $0.contains { $0.contains(dropped) } } })
        #expect(eventually { service.lastError?.contains("dropped") == true })
        service.stop()
        client.close()
        let texts = reports.withLock { $0 }
        #expect(!texts.contains { $0.contains("trying again") }, "\(texts)")
    }

    @Test func `a body that is not JSON is refused before the handler runs`() throws {
        let script = try serve("log 'handled' return 1")
        let client = NatsRequestClient(NatsOptions(server.address))
        let outcome = Outcome()
        try client.send("zoo.test", body: Array("{oops".utf8), within: .seconds(60)) {
            outcome.set($0)
        }
        #expect(eventually { outcome.result != nil })
        guard case .failure(let error)? = outcome.result else {
            Issue.record("the request was answered")
            return
        }
        #expect(error.code == "invalid_argument")
        #expect(error.message.contains("line 1"), "\(error.message)")
        #expect(script.log == ["serving"])
        #expect(script.reports.isEmpty)
        end(script)
    }

    @Test func `an interrupt ends a waiting request`() throws {
        let script = try serve("moonpool.wait_until(function() end) return 1")
        let asking = try ScriptFixture(
            """
            log "asking"
            moonpool.request { url = "\(server.address)", subject = "zoo.test", timeout = 600 }
            """)
        #expect(asking.logs("asking"))
        #expect(eventually { asking.script.interrupt() || asking.script.hasEnded })
        #expect(asking.finish() == 130)
        script.script.kill()
        _ = script.finish()
    }

    @Test func `invalid options are refused immediately`() throws {
        let cases = [
            ("serve { url = 'nats://h', subject = 'a' }", "'handler' must be a function, got nil"),
            (
                "serve { url = 'nats://h', subject = 'a b', handler = print }",
                "'a b' is not a valid subject"
            ),
            (
                "serve { url = 'http://h', subject = 'a', handler = print }",
                "expected an address such as"
            ),
            ("request { url = 'nats://h', subject = 'a.*' }", "'a.*' is not a valid subject"),
            ("request { url = 'nats://h', subject = 'a', body = print }", "JSON cannot represent"),
            (
                "request { url = 'nats://h', subject = 'a', timeout = 0 }",
                "'timeout' must be a number"
            ),
            ("request { url = 'nats://h', subject = 'a', bodi = 1 }", "unknown option 'bodi'"),
            ("request { url = 'nats://h' }", "option 'subject' is missing"),
        ]
        let source = cases.map {
            """
            local _, err = pcall(function() moonpool.\($0.0) end)
            log(err.code .. ": " .. err.message)
            """
        }
        let log = try expectScript(source.joined(separator: "\n")).log
        #expect(log.count == cases.count)
        for (line, (_, reason)) in zip(log, cases) {
            #expect(line.hasPrefix("invalid_argument: ") && line.contains(reason), "\(line)")
        }
    }

    @Test func `a sandboxed script has no network`() throws {
        try expectScript(
            """
            local store = moonpool.open { in_memory = "x" }
            local function refuse(f, ...)
                log((select(2, pcall(f, ...)).message:match "this script is not allowed to use the (%w+)"))
            end
            refuse(moonpool.serve, { url = "nats://h", subject = "a", handler = log })
            refuse(moonpool.request, { url = "nats://h", subject = "a" })
            refuse(store.publish, store, { url = "nats://localhost", stream = "x" })
            refuse(store.import, store, "postgres://localhost/x")
            refuse(store.export, store, "postgres://localhost/x")
            refuse(store.import, store, "x.csv", { format = "postgres" })
            """, rights: .sandboxed,
            logs: ["network", "network", "network", "network", "network", "file"])
    }
}

/// The result of a request, which another thread sets.
private final class Outcome: Sendable {
    private let stored = Mutex<Result<[UInt8], RequestError>?>(nil)
    var result: Result<[UInt8], RequestError>? { stored.withLock { $0 } }
    func set(_ result: Result<[UInt8], RequestError>) { stored.withLock { $0 = result } }
}
