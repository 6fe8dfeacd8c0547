/// The code that opened a store or froze a version, for reports.
package struct VersionHolder: Hashable, Sendable {
    /// The script's name; empty where no script is involved.
    package var script: String
    /// File and line, as in `zoo.lua:12`; empty if unknown.
    package var place: String

    /// Makes a holder.
    package init(script: String = "", place: String = "") {
        self.script = script
        self.place = place
    }
}

/// A holder that keeps an old version of a file readable, and with it space that newer versions could use.
package struct VersionPin: Hashable, Sendable {
    /// The kind of holder.
    package enum Kind: String, Hashable, Sendable {
        /// A store of this process that has not moved on.
        case store
        /// A frozen version that this process still refers to.
        case frozen
        /// A reference to results that was not resolved yet.
        case reference
        /// Observers of this process that have not received newer versions yet, or results that they were given.
        case observers
        /// Another process.
        case process
    }

    /// The version that is held.
    package let version: UInt64
    /// The kind of holder.
    package let kind: Kind
    /// The holder of the version.
    package let holder: VersionHolder
    /// Since when it is held, if this process knows.
    package let since: Timestamp?
    /// The number of the process.
    package let process: Int32
    /// The bytes of the file that cannot be used again while the version is held.
    ///
    /// Several holders of old versions may keep the same bytes.
    package let bytes: Int
}

extension VersionPin {
    /// The holder in words: `a frozen version of zoo.lua:12`.
    package var summary: String {
        let place = holder.place.isEmpty ? holder.script : holder.place
        let end = place.isEmpty ? "" : " of \(place)"
        return switch kind {
        case .store: "the store\(end)"
        case .frozen: "a frozen version\(end)"
        case .reference: "a reference\(end)"
        case .observers: "observers that are still to be called"
        case .process: "process \(process)"
        }
    }
}
