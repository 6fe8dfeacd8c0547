import EventLoops
import ObjectStore
import StoreBindings

/// A change of files in a folder of migrations, which can be shown before it is applied.
package struct MigrationFolderEdit {
    /// The planned changes, as sentences.
    package let steps: [String]
    /// The differences between the old and the new texts, as lines.
    package let difference: [String]
    /// Whether there are no changes.
    package var isEmpty: Bool { steps.isEmpty }
    private let make: () throws -> Void

    init(steps: [String], difference: [String] = [], _ make: @escaping () throws -> Void) {
        self.steps = steps
        self.difference = difference
        self.make = make
    }

    /// Applies the change.
    package func apply() throws { try make() }

    /// The report of the change for programs.
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
