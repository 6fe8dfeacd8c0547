import ObjectStore
import Testing

/// Migrations of files that other stores read, and random renames; `Tests/Specifications/migrations.lua` and `renames.lua`
/// specify the rest.
@Suite struct MigrationTests {
    private let world = MigrationWorld()

    @Test(arguments: [StoreConfiguration.Durability.full, .memory])
    func `an error rolls everything back, and the migration can be tried again`(
        durability: StoreConfiguration.Durability
    ) throws {
        var world = world
        world.durability = durability
        try world.fill([personBefore], people, version: 1)
        let before = DamagedStore.bytes(world.path)
        #expect(throws: TestFailure()) {
            _ = try world.open([personAfter], version: 2) { migration in
                try migration.each("Person") { _, new in try new.set("name", .string("x")) }
                try migration.create("Person", .list([.int(7), .string("y")]))
                throw TestFailure()
            }
        }
        // A writer that does not wait for commits overwrites free pages before the outcome of these commits is known.
        if durability == .full { #expect(DamagedStore.bytes(world.path) == before) }
        #expect(try Store.schemaVersion(atPath: world.path) == 1)
        let old = try world.open([personBefore], version: 1)
        #expect(
            try MigrationWorld.values(old, "Person", "first") == [
                .string("Ann"), .string("Bob"), .string("Cid"),
            ])
        old.close()
        let new = try world.open([personAfter], version: 2) { migration in
            try migration.renameProperty("Person", from: "first", to: "name")
        }
        #expect(try MigrationWorld.values(new, "Person", "name").first == .string("Ann"))
    }

    /// Names of properties or classes are exchanged at random, by renames in a random order.
    @Test(arguments: 1...30) func `renames are one permutation of names`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let names = ["a", "b", "c", "d", "e"]
        let classNames = ["A", "B", "C"]
        let classes = classNames.map { name in
            ClassSchema(
                name,
                names.map { Property($0, .string, defaultValue: .string("new")) }
                    + [Property("next", .object, target: name)])
        }
        let store = try Store.temporary(classes)
        try store.write {
            for name in classNames {
                let object = try store.create(
                    name,
                    .dictionary(
                        ValueMap(
                            uniqueKeysWithValues: names.map { ($0, .string("\(name).\($0)")) })))
                try object.set("next", .object(object.reference))
            }
        }
        // Each old name leads to a new one, which is another old name or a name outside of the file.
        let targets = Array((names + ["x", "y"]).shuffled(using: &random).prefix(names.count))
        let classTargets = Array((classNames + ["X"]).shuffled(using: &random).prefix(3))
        let after = zip(classNames, classTargets).map { _, name in
            ClassSchema(
                name,
                targets.map { Property($0, .string) } + [Property("next", .object, target: name)])
        }
        let classesFirst = Bool.random(using: &random)
        try store.redefine(after) { migration in
            func renameClasses() throws {
                for kind in (0..<3).shuffled(using: &random)
                where classNames[kind] != classTargets[kind] {
                    try migration.renameClass(classNames[kind], to: classTargets[kind])
                }
            }
            if classesFirst { try renameClasses() }
            for kind in (0..<3).shuffled(using: &random) {
                for index in names.indices.shuffled(using: &random)
                where names[index] != targets[index] {
                    try migration.renameProperty(
                        classesFirst ? classTargets[kind] : classNames[kind], from: names[index],
                        to: targets[index])
                }
            }
            if !classesFirst { try renameClasses() }
        }
        for (old, name) in zip(classNames, classTargets) {
            let object = try #require(try store.objects(name).first())
            #expect(try store.objects(name).count() == 1)
            for (property, target) in zip(names, targets) {
                #expect(try object.value(target) == .string("\(old).\(property)"))
            }
            #expect(try object.value("next") == .object(object.reference))
        }
        #expect(try store.verify().isEmpty)
    }
}
