import Glibc

/// Tells when a commit began; to be asked once the observer has been called.
///
/// Not before: the answer of another thread or process would wake the one that measures in the middle of what is
/// measured, and take one of two processors from the observer.
typealias Beginning = () throws -> UInt64

/// Who commits while an observer waits: a contestant, or a process that does it for one.
///
/// Each method but the first is one transaction, which need not be over when it returns.
protocol Committer: AnyObject {
    /// Pauses before a commit; nothing where the thread that commits is another one, which then pauses itself: it would
    /// otherwise be woken by somebody else in the very moment of its commit.
    func rest()
    func setAge(_ age: Int64, of key: Int64) throws -> Beginning
    func setScore(_ score: Double, of key: Int64) throws -> Beginning
    /// Adds a person at the end of the club's list.
    func appendToClub(_ key: Int64) throws -> Beginning
}

extension Committer {
    func rest() { restAsInQuietProgram() }
}

/// Lets threads and processors sleep before something is measured, as they would in a program that has little to do.
func restAsInQuietProgram() { usleep(1000) }
