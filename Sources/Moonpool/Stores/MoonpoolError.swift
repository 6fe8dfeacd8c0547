import ObjectStore

/// A stable code of an error; its text is what scripts see in `err.code`.
public typealias ErrorCode = StoreError.Code

extension StoreError.Code: ExpressibleByStringLiteral {
    /// Creates a code from its text.
    public init(stringLiteral value: String) { self.init(rawValue: value) }
}

/// An error of the library: a code for programs and a message for people.
///
/// All errors that the library creates conform to it. An operation may throw two others: `CancellationError`, and what a closure or a
/// Codable value of the program has thrown.
///
/// ```swift
/// do {
///     try await store.write { tx in try tx.insert(Dog(name: "Rex")) }
/// } catch let error as any MoonpoolError where error.code == .duplicateKey {
///     print(error.message)
/// }
/// ```
///
/// An error of a program that conforms has its code and message in Lua, too, when a registered function throws it.
public protocol MoonpoolError: Error, CustomStringConvertible {
    /// The stable code.
    var code: ErrorCode { get }
    /// A sentence that says what is wrong, where, and what to do.
    var message: String { get }
}

extension MoonpoolError {
    /// The message, followed by the code.
    public var description: String { "\(message) (\(code))" }
}

extension StoreError: MoonpoolError {}
