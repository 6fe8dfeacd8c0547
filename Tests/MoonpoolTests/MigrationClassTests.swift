import Moonpool
import TestThreads
import Testing

private struct Dog: Model {
    var name = ""
    var owner = ""
}

private struct Owner: Model {
    var name = ""
    static let options = ModelOptions<Owner>(primaryKey: \.name)
}

private struct Cat: Model {
    var name = ""
    var owner: Link<Owner>?
}

/// Migrations that add and remove classes.
@Suite struct MigrationClassTests {
    @Test func `Objects of a removed class become objects of new classes`() throws {
        let folder = try TemporaryFolder()
        let location = StoreLocation.file("\(folder.path)/pets.moonpool")
        let old = try Store(location, models: Dog.self, on: nil)
        try old.writeNow { tx in
            for (name, owner) in [("Rex", "Ann"), ("Max", "Ben"), ("Bella", "Ann")] {
                try tx.insert(Dog(name: name, owner: owner))
            }
        }
        old.close()
        let new = try Store(location, models: Cat.self, Owner.self, version: 2, on: nil) {
            migration in
            try migration.forEach(Cat.self) { _, _ in Issue.record("the class had no objects") }
            for dog in try migration.oldObjects("Dog") {
                let owner = try migration.transaction.insert(Owner(name: dog["owner"]), .updating)
                let cat = try migration.transaction.insert(Cat(name: dog["name"]))
                cat.owner = owner
            }
            #expect(try migration.deleteClass("Dog"))
            let error = #expect(throws: StoreError.self) { try migration.oldObjects("Bird") }
            #expect(error?.code == .unknownClass)
        }
        defer { new.close() }
        #expect(new.all(Cat.self).map(\.name) == ["Rex", "Max", "Bella"])
        #expect(new.all(Owner.self).map(\.name).sorted() == ["Ann", "Ben"])
    }
}
