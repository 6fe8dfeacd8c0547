import Moonpool
import Synchronization
import TestThreads
import Testing

@Suite(.serialized) struct RealmExamplesTests {
    private func isPrinted(_ line: String) async throws -> Bool {
        try await eventually { RealmExamples.printed.withLock { $0.contains(line) } }
    }
    private func clear() { RealmExamples.printed.withLock { $0 = [] } }

    @Test func `a worker with its own thread observes the files that another actor adds`()
        async throws
    {
        let worker = RealmExamples.CacheWorker()
        try await worker.start()
        let isDownloaded = try await eventually {
            // The worker ignores the data at the start of its observation.
            try await RealmExamples.SomeAPI().add()
            return await worker.downloads.first == "http://rx-marin.com/images/avatar.jpg"
        }
        #expect(isDownloaded)
    }

    @Test func `a worker runs closures on its own thread`() async throws {
        let worker = RealmExamples.BackgroundWorker()
        let threads = Mutex<Set<UInt>>([])
        for _ in 0..<3 {
            await worker.start { _ in
                threads.withLock { _ = $0.insert(RunningThread.currentNumber) }
            }
        }
        worker.stop()
        #expect(threads.withLock { $0.count } == 1)
    }

    @Test func `the loop of a worker ends with its task`() async throws {
        let store = try Store(.memory("files"), models: RealmExamples.File.self, on: nil)
        defer { store.close() }
        let worker = RealmExamples.CacheWorker()
        let loop = Task { try await worker.run() }
        let isDownloaded = try await eventually {
            // The loop ignores the data at its start.
            try await store.write { tx in
                try tx.insert(RealmExamples.File(remoteUrl: "http://example.com"))
            }
            return store.all(RealmExamples.File.self).contains { $0.localUrl == "file:///cache" }
        }
        #expect(isDownloaded)
        loop.cancel()
        // A canceled loop ends without an error between two changes, and with this one in a write.
        do { try await loop.value } catch is CancellationError {}
    }

    @MainActor @Test func `observers of a collection, an object and key paths receive changes`()
        async throws
    {
        clear()
        let controller = try RealmExamples.ViewController()
        defer { controller.store.close() }
        try controller.observeStore()
        try controller.observeCollection()
        try controller.observeObject()
        #expect(
            try await eventually {
                RealmExamples.printed.withLock {
                    $0.contains {
                        $0.hasPrefix("Property 'name' of object Dog(name: \"Wolfie\"")
                            && $0.hasSuffix("changed to '\"Wolfie\"'")
                    }
                }
            })
        try controller.observeKeyPaths()
        try controller.writeSilently()
        try controller.stopWatching()
        let dog = try controller.store.writeNow { tx in
            try tx.insert(RealmExamples.Dog(name: "Rex", age: 1))
        }
        try controller.writeFromHandler(dog)
        try controller.store.writeNow { _ in dog.age = 1 }
        try controller.store.writeNow { _ in dog.age = 0 }
        #expect(try await eventually { dog.isPuppy })
        #expect(
            try await eventually {
                RealmExamples.printed.withLock {
                    $0.contains { $0.contains("favoriteToy") && $0.contains("Frisbee") }
                }
            })
        #expect(
            RealmExamples.printed.withLock {
                !$0.contains {
                    $0.contains("Maxamillion") && $0.contains("Frisbee")
                        && $0.contains("new: \"Maxamillion\"")
                }
            })
    }

    @MainActor @Test func `lists, sets, maps and backlinks are observed with key paths`()
        async throws
    {
        clear()
        let controller = try RealmExamples.ViewController()
        let store = controller.store
        defer { store.close() }
        let (ann, dog) = try store.writeNow { tx in
            let dog = try tx.insert(RealmExamples.Dog(name: "Rex"))
            let ann = try tx.insert(RealmExamples.Person(firstName: "Ann", dogs: [Link(dog)]))
            return (ann, dog)
        }
        try controller.observeCollections(ann, dog)
        #expect(
            try await eventually {
                RealmExamples.printed.withLock { $0.count { $0.contains("initial") } } >= 4
            })
        try store.writeNow { _ in
            ann.pets["first"] = dog
            ann.notes["food"] = "dry"
        }
        #expect(try await isPrinted("[] [\"first\"] []"))
        try store.writeNow { _ in dog.favoriteToy = "Ball" }
        try store.writeNow { _ in dog.name = "Max" }
        #expect(try await isPrinted("[] [] [\"first\"]"))
        let values = Task { @MainActor in try await controller.keyValues(dog) }
        #expect(try await eventually { controller.text == "0" })
        try store.writeNow { _ in dog.age = 7 }
        #expect(try await eventually { controller.text == "7" })
        values.cancel()
        try await values.value
    }

    @MainActor @Test func `another actor observes and deletes objects`() async throws {
        clear()
        let controller = try RealmExamples.ViewController()
        defer { controller.store.close() }
        try await controller.differentActor()
        // The deletion arrives in a later turn of the main actor.
        #expect(try await eventually { controller.store.all(RealmExamples.Todo.self).isEmpty })
    }

    @MainActor @Test func `a projection reports the property by its projected name`() async throws {
        clear()
        let controller = try RealmExamples.ViewController()
        defer { controller.store.close() }
        _ = try controller.store.writeNow { tx in
            try tx.insert(RealmExamples.Person(firstName: "Jason"))
        }
        try controller.projections()
        #expect(
            try await isPrinted(
                "Property 'firstName' of object PersonProjection(firstName: \"David\", friendCount: 0) changed to '\"David\"'"
            ))
    }

    @MainActor @Test func `a table view deletes rows with and without a notification`() async throws
    {
        let controller = try RealmExamples.ViewController()
        defer { controller.store.close() }
        let table = try RealmExamples.TableViewController(controller.store)
        try controller.store.writeNow { tx in
            for title in ["a", "b", "c", "d"] {
                try tx.insert(RealmExamples.DemoObject(title: title))
            }
        }
        try table.delete(at: 0)
        try table.deleteDirectly(at: 0)
        try table.deleteAndRefresh(at: 0)
        #expect(table.numberOfRows() == 1 && table.title(at: 0) == "d")
        table.deleteInBackground(at: 0)
        #expect(try await eventually { table.numberOfRows() == 0 })
    }

    @Test func `objects, frozen objects, references and errors work`() async throws {
        clear()
        try await RealmExamples.Objects().run()
        let lines = RealmExamples.printed.withLock { $0 }
        #expect(lines.contains("1 0"))
        #expect(lines.contains("true true Everything 0"))
        #expect(lines.contains("Rex 2 true"))
        #expect(lines.contains("false"))
        try await RealmExamples.Writes().run()
        #expect(RealmExamples.printed.withLock { $0.contains("0") })
    }
}
