import LuaHost
import StoreBindings

/// The ten steps of `.tutorial`.
struct Tutorial {
    /// A step.
    struct Step: Sendable {
        /// The title.
        var title: String
        /// The explanation.
        var text: String
        /// The entry to type.
        var entry: String
        /// Returns whether an entry has completed the step.
        var isDone: @Sendable (Session, _ entry: String) -> Bool
        /// Whether later steps use what the entry creates.
        var isPreparation = false
    }

    /// The number of the current step, starting at 1.
    private(set) var number = 1

    var step: Step { Self.steps[number - 1] }
    var isLast: Bool { number == Self.steps.count }

    /// Creates a tutorial that starts at a step.
    ///
    /// Returns nil if there is no step with this number.
    init?(at number: Int = 1) {
        guard Self.steps.indices.contains(number - 1) else { return nil }
        self.number = number
    }

    mutating func advance() { number = min(number + 1, Self.steps.count) }

    static let steps: [Step] = [
        Step(
            title: "Expressions",
            text: "Type Lua. An expression prints its value, and _ is the last result. Try:",
            entry: "6 * 7", isDone: { session, _ in !session.lastValues.isEmpty }),
        Step(
            title: "Classes",
            text: """
                A store holds objects of classes. `store` is an open in-memory store. Define a class by the types of its \
                properties. `int primary` is a primary key, and `?` makes a property optional:
                """,
            entry:
                "store:define { Dog = { id = \"int primary\", name = \"string\", age = \"int?\" } }",
            isDone: { session, _ in session.store?.store.schema.find("Dog") != nil },
            isPreparation: true),
        Step(
            title: "Writing",
            text: """
                Change data in a write transaction: all changes of the function are committed together, or rolled back \
                if it raises an error. The prompt shows the new version:
                """,
            entry: "store:write(function() for i, name in ipairs { \"Rex\", \"Max\", \"Cleo\" } do "
                + "store:create(\"Dog\", { id = i, name = name, age = 2 * i }) end end)",
            isDone: { session, _ in session.count(of: "Dog") > 0 }, isPreparation: true),
        Step(
            title: "Queries",
            text: """
                Results are lazy and live: they always contain the objects that match now. Tab completes classes, \
                properties and methods, also inside strings:
                """,
            entry: "dogs = store:objects(\"Dog\"):where(\"age > 2\"):sorted(\"name\")",
            isDone: { session, _ in session.isResults("dogs") }, isPreparation: true),
        Step(
            title: "Printing",
            text:
                "Objects print their properties and Results print a table. .last prints a shortened result completely. Try:",
            entry: "dogs", isDone: { _, entry in entry.contains("dogs") }),
        Step(
            title: "Live objects",
            text:
                "Reading a property always returns the current value. Change an object, then print dogs again:",
            entry: "store:write(function() dogs[1].age = 9 end)",
            isDone: { _, entry in entry.contains("age") }),
        Step(
            title: "Observers",
            text: """
                An observer is called after each change to a collection and receives the insertions, deletions and \
                modifications. Keep the token: the observer ends with it. Its output is labeled with its name:
                """,
            entry:
                "token = dogs:observe(function(c) print(c.type, #c.insertions, #c.modifications) end, "
                + "{ name = \"kennel\" })",
            isDone: { session, _ in !session.context.storeModule.activeTokens.isEmpty },
            isPreparation: true),
        Step(
            title: "Changes arrive",
            text:
                "Change an object in the observed collection. The observer prints above the line that you type:",
            entry: "store:write(function() dogs[1].name = \"Caesar\" end)",
            isDone: { _, entry in entry.contains("write") }),
        Step(
            title: "Why",
            text: """
                .observers lists the observers and their cost. .why NAME explains the last call of an observer. .watch \
                QUERY updates a query on the screen after each change:
                """,
            entry: ".why kennel",
            isDone: { _, entry in
                [".why", ".observers", ".watch"].contains { entry.hasPrefix($0) }
            }),
        Step(
            title: "Saving your work",
            text: """
                .save FILE writes your entries as a script. .transcript FILE records a session that can run as a test. \
                `moonpool zoo.moonpool` opens a store file. The last step:
                """,
            entry: ".help", isDone: { _, entry in entry.hasPrefix(".") }),
    ]
}

extension Session {
    fileprivate func count(of name: String) -> Int {
        guard let view = store?.store.view, let found = view.schema.find(name) else { return 0 }
        return (try? view.count(of: found)) ?? 0
    }

    fileprivate func isResults(_ name: String) -> Bool {
        let value = evaluator.local(name) ?? context.state.globals[name]
        if case .results? = context.storeModule.inspect(value) { return true }
        return false
    }
}
