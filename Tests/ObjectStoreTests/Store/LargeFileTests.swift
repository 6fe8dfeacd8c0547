import TestThreads
import Testing

@testable import ObjectStore

/// Stores of more than 32 MiB, whose pages are verified when they are used and not when the file is opened.
@Suite struct LargeFileTests {
    private let folder = TemporaryFolder.inMemory()

    private func open() throws -> Store {
        try Store(
            StoreConfiguration(
                .file(folder.path + "/large.moonpool"),
                schema: [
                    ClassSchema("Dog", "id: int primary, name: string indexed, blob: data")
                ]), scheduler: ManualScheduler())
    }

    @Test(arguments: RandomSeeds.sample(1, of: UInt64(0)..<3))
    func `random commits after reopening have the effects of a model, and the file is sound`(
        seed: UInt64
    ) throws {
        var generator = SplitMix(seed: seed)
        var model: [Int64: String] = [:]
        func values(_ id: Int64, _ count: Int) -> Value {
            let name = "name \(Int.random(in: 0..<500, using: &generator))"
            model[id] = name
            let blob = [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: count)
            return .dictionary(["id": .int(id), "name": .string(name), "blob": .data(blob)])
        }
        do {
            let store = try open()
            defer { store.close() }
            try store.write {
                for id in 0..<Int64(40_000) { try store.create("Dog", values(id, 900)) }
            }
        }
        for _ in 0..<3 {
            let store = try open()
            defer { store.close() }
            for _ in 0..<150 {
                try store.write {
                    for _ in 0..<Int.random(in: 1...8, using: &generator) {
                        let id = Int64.random(in: 0..<50_000, using: &generator)
                        let object = try store.object("Dog", primaryKey: .int(id))
                        switch (object, Int.random(in: 0..<3, using: &generator)) {
                        case (nil, _): try store.create("Dog", values(id, 20_000))
                        case (let object?, 0):
                            try store.delete(object)
                            model[id] = nil
                        case (let object?, _):
                            let name = "name \(Int.random(in: 0..<500, using: &generator))"
                            try object.set("name", .string(name))
                            model[id] = name
                        }
                    }
                }
            }
            #expect(try store.verify() == [])
            let dogs = try store.objects("Dog")
            #expect(try dogs.count() == model.count)
            for name in (0..<500).filter({ $0 % 50 == 7 }).map({ "name \($0)" }) {
                let found = try dogs.filtered("name == $1", [.string(name)]).count()
                #expect(found == model.values.count { $0 == name })
            }
        }
    }
}
