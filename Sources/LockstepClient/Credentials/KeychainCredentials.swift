#if canImport(Security)
  import Foundation
  import Security

  /// Keeps the token in the keychain of the device. The token is not part of backups. The app can read it after the
  /// first unlock, so that it can work in the background.
  public final class KeychainCredentials: ClientCredentials {
    private let service: String
    private let accessGroup: String?

    /// Credentials of a server. `service` distinguishes servers and environments. `accessGroup` shares the token
    /// with the app's extensions.
    public init(service: String = "lockstep", accessGroup: String? = nil) {
      (self.service, self.accessGroup) = (service, accessGroup)
    }

    private var query: [CFString: Any] {
      var query: [CFString: Any] = [
        kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: "token",
        kSecUseDataProtectionKeychain: true,
      ]
      if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
      return query
    }

    /// The token; nil if there is none.
    public func token() throws -> String? {
      var wanted = query
      wanted[kSecReturnData] = true
      var found: CFTypeRef?
      let status = SecItemCopyMatching(wanted as CFDictionary, &found)
      if status == errSecItemNotFound { return nil }
      guard status == errSecSuccess, let data = found as? Data else { throw Self.failure("read", status) }
      return String(decoding: data, as: UTF8.self)
    }

    /// Adds or replaces the token; removes it if it is nil.
    public func save(_ token: String?) throws {
      guard let token else {
        let status = SecItemDelete(query as CFDictionary)
        guard [errSecSuccess, errSecItemNotFound].contains(status) else { throw Self.failure("removed", status) }
        return
      }
      let value: [CFString: Any] = [
        kSecValueData: Data(token.utf8), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
      ]
      var status = SecItemUpdate(query as CFDictionary, value as CFDictionary)
      if status == errSecItemNotFound {
        status = SecItemAdd(query.merging(value) { $1 } as CFDictionary, nil)
      }
      guard status == errSecSuccess else { throw Self.failure("written", status) }
    }

    private static func failure(_ verb: String, _ status: OSStatus) -> ClientFailure {
      ClientFailure(.credentials, "The token cannot be \(verb) in the keychain (status \(status)).")
    }
  }
#endif
