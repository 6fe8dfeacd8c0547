import EventLoops
import ObjectStore
import StoreBindings

/// A change of the files of a folder of migrations that is shown before it is made.
package struct MigrationFolderEdit {
    /// The planned changes, in sentences.
    package let steps: [String]
    /// The difference of texts that are rewritten, in lines.
    package let difference: [String]
    /// Whether there is nothing to do.
    package var isEmpty: Bool { steps.isEmpty }
    private let make: () throws -> Void

    init(steps: [String], difference: [String] = [], _ make: @escaping () throws -> Void) {
        self.steps = steps
        self.difference = difference
        self.make = make
    }

    /// Makes the change.
    package func apply() throws { try make() }

    /// The change for programs.
    package var value: ReportValue {
        .members(["steps": .texts(steps), "difference": .texts(difference)])
    }

    /// Writes a file.
    static func write(_ text: String, to path: String) throws {
        if let reason = ProcessServices.write(text, to: path) {
            throw StoreError(.invalidArgument, "'\(path)' cannot be written: \(reason)")
        }
    }
}
