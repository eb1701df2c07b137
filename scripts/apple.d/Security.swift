@_exported import Darwin

// Declarations that `KeychainCredentials` uses. A dictionary stands for `CFDictionary`, because casts between Swift and Core
// Foundation need Objective-C.

public class CFString: Hashable {
  public static func == (left: CFString, right: CFString) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) {}
}

public typealias CFDictionary = [CFString: Any]
public typealias CFTypeRef = AnyObject
public typealias OSStatus = Int32

nonisolated(unsafe) public let kSecClass = CFString()
nonisolated(unsafe) public let kSecClassGenericPassword = CFString()
nonisolated(unsafe) public let kSecAttrService = CFString()
nonisolated(unsafe) public let kSecAttrAccount = CFString()
nonisolated(unsafe) public let kSecAttrAccessGroup = CFString()
nonisolated(unsafe) public let kSecAttrAccessible = CFString()
nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = CFString()
nonisolated(unsafe) public let kSecReturnData = CFString()
nonisolated(unsafe) public let kSecUseDataProtectionKeychain = CFString()
nonisolated(unsafe) public let kSecValueData = CFString()
public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25300

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { 0 }
public func SecItemUpdate(_ query: CFDictionary, _ changes: CFDictionary) -> OSStatus { 0 }
