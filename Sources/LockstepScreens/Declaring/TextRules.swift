import LockstepCollections
import LockstepModules
import LockstepReactor
import LockstepStore

extension Validator<String> {
  /// The form of an e-mail address, which the server accepts for an account. Trims the text. Does not check whether
  /// the address exists. The messages are in English.
  public static let emailAddress = Validator(normalise: { $0.trimmingWhitespace() }) { text in
    if text.isEmpty { return .empty }
    do throws(AccountTextError) {
      _ = try EmailAddress(text)
      return .ok
    } catch {
      return .failed(message: error.description)
    }
  }

  /// A text of the module `profile`: not empty, and not longer than `longestProfileText`. Trims the text. The messages
  /// are in English.
  public static let profileText = Validator(normalise: { $0.trimmingWhitespace() }) { text in
    ProfileReactor.validation(of: text)
  }

  /// The most characters of a text of the module `profile`, in Unicode scalars.
  public static var longestProfileText: Int { ProfileReactor.characters }
}

extension PayloadField<String?> {
  /// The name of a device, such as the argument of a screen that logs in: see `POST /v1/sessions`.
  public static func deviceName(_ name: String) -> PayloadField {
    let text = optionalText(name, bytes: 0...4_096)
    let member = SchemaMember(name: name, schema: DeviceName.schema, isRequired: false)
    return PayloadField([member], read: text.read).checked { device in
      guard let device else { return nil }
      do throws(AccountTextError) {
        _ = try DeviceName(device)
        return nil
      } catch {
        return error.description
      }
    }
  }
}
