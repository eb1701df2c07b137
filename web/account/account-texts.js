// The texts of the page, in the languages of the server's mails.

const texts = {
  en: {
    resetTitle: 'Choose a new password', password: 'New password', show: 'Show the password', reset: 'Set the password',
    resetDone: 'Your password is set',
    resetNext: 'You can now log in with the new password. All your devices have been logged out.',
    confirmTitle: 'Confirm your e-mail address', confirmText: 'Press the button to confirm that this address is yours.',
    confirm: 'Confirm this address', confirmDone: 'Your address is confirmed', confirmNext: 'You can close this page.',
    linkTitle: 'This link is not complete', linkText: 'Open the link in the mail again, or ask for a new mail.',
    gone: 'This link no longer works. A link works once, and only for a short time. Ask for a new mail.',
    busy: 'Please wait…', late: 'There were too many attempts. Try again in a few minutes.',
    unreachable: 'The server cannot be reached. Check your connection and try again.',
    failed: 'That did not work. Try again later.', refused: 'The server does not accept this password:'
  },
  ja: {
    resetTitle: '新しいパスワードの設定', password: '新しいパスワード', show: 'パスワードを表示する', reset: 'パスワードを設定する',
    resetDone: 'パスワードを設定しました',
    resetNext: '新しいパスワードでログインできます。すべての端末はログアウトされました。',
    confirmTitle: 'メールアドレスの確認', confirmText: 'ボタンを押して、このメールアドレスがご自身のものであることを確認してください。',
    confirm: 'このアドレスを確認する', confirmDone: 'メールアドレスを確認しました', confirmNext: 'このページを閉じて構いません。',
    linkTitle: 'リンクが不完全です', linkText: 'メールのリンクをもう一度開くか、新しいメールを申し込んでください。',
    gone: 'このリンクはもう使えません。リンクは一度だけ、短い時間のみ有効です。新しいメールを申し込んでください。',
    busy: 'お待ちください…', late: '試行回数が多すぎます。数分後にもう一度お試しください。',
    unreachable: 'サーバーに接続できません。接続を確認して、もう一度お試しください。',
    failed: '処理できませんでした。後でもう一度お試しください。', refused: 'このパスワードは使えません:'
  },
  de: {
    resetTitle: 'Neues Passwort wählen', password: 'Neues Passwort', show: 'Passwort anzeigen', reset: 'Passwort speichern',
    resetDone: 'Ihr neues Passwort ist gespeichert',
    resetNext: 'Sie können sich jetzt mit dem neuen Passwort anmelden. Sie wurden auf allen Geräten abgemeldet.',
    confirmTitle: 'E-Mail-Adresse bestätigen', confirmText: 'Klicken Sie auf die Schaltfläche, um zu bestätigen, dass diese Adresse Ihnen gehört.',
    confirm: 'Diese Adresse bestätigen', confirmDone: 'Ihre Adresse ist bestätigt', confirmNext: 'Sie können diese Seite schließen.',
    linkTitle: 'Dieser Link ist nicht vollständig', linkText: 'Öffnen Sie den Link in der E-Mail noch einmal oder fordern Sie eine neue E-Mail an.',
    gone: 'Dieser Link ist nicht mehr gültig. Ein Link funktioniert nur einmal und nur für kurze Zeit. Fordern Sie eine neue E-Mail an.',
    busy: 'Bitte warten…', late: 'Es gab zu viele Versuche. Versuchen Sie es in einigen Minuten noch einmal.',
    unreachable: 'Der Server ist nicht erreichbar. Prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal.',
    failed: 'Das hat nicht funktioniert. Versuchen Sie es später noch einmal.', refused: 'Der Server akzeptiert dieses Passwort nicht:'
  },
  fr: {
    resetTitle: 'Choisir un nouveau mot de passe', password: 'Nouveau mot de passe', show: 'Afficher le mot de passe',
    reset: 'Enregistrer le mot de passe', resetDone: 'Votre mot de passe est enregistré',
    resetNext: 'Vous pouvez maintenant vous connecter. Tous vos appareils ont été déconnectés.',
    confirmTitle: 'Confirmer votre adresse e-mail', confirmText: 'Appuyez sur le bouton pour confirmer que cette adresse est la vôtre.',
    confirm: 'Confirmer cette adresse', confirmDone: 'Votre adresse est confirmée', confirmNext: 'Vous pouvez fermer cette page.',
    linkTitle: 'Ce lien n’est pas complet', linkText: 'Ouvrez de nouveau le lien du message, ou demandez un nouveau message.',
    gone: 'Ce lien ne fonctionne plus. Il ne sert qu’une fois et pendant peu de temps. Demandez un nouveau message.',
    busy: 'Veuillez patienter…', late: 'Il y a eu trop de tentatives. Réessayez dans quelques minutes.',
    unreachable: 'Le serveur est injoignable. Vérifiez votre connexion et réessayez.',
    failed: 'Cela n’a pas fonctionné. Réessayez plus tard.', refused: 'Le serveur n’accepte pas ce mot de passe :'
  },
  es: {
    resetTitle: 'Elegir una contraseña nueva', password: 'Contraseña nueva', show: 'Mostrar la contraseña', reset: 'Guardar la contraseña',
    resetDone: 'Su contraseña está guardada',
    resetNext: 'Ya puede iniciar sesión con ella. Se ha cerrado la sesión en todos sus dispositivos.',
    confirmTitle: 'Confirmar su dirección de correo', confirmText: 'Pulse el botón para confirmar que esta dirección es suya.',
    confirm: 'Confirmar esta dirección', confirmDone: 'Su dirección está confirmada', confirmNext: 'Puede cerrar esta página.',
    linkTitle: 'Este enlace no está completo', linkText: 'Abra de nuevo el enlace del mensaje o solicite uno nuevo.',
    gone: 'Este enlace ya no funciona. Funciona una sola vez y durante poco tiempo. Solicite un mensaje nuevo.',
    busy: 'Espere un momento…', late: 'Ha habido demasiados intentos. Inténtelo de nuevo dentro de unos minutos.',
    unreachable: 'No se puede conectar con el servidor. Compruebe su conexión e inténtelo de nuevo.',
    failed: 'No ha funcionado. Inténtelo más tarde.', refused: 'El servidor no acepta esta contraseña:'
  }
}

/** The first of the browser's languages that has texts. */
export const language =
  navigator.languages.map(tag => tag.toLowerCase().split('-')[0]).find(tag => Object.hasOwn(texts, tag)) ?? 'en'

export const text = texts[language]
