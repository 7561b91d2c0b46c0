"""The vocabulary of the first revision, as data: terms that ask for a credential, and phrases that do not.

A term is one or more words; ``*`` ends a word in any way, and ``…`` stands for up to three words between. Accents and
capitals make no difference. Each language has, as far as it has words of its own for them: password, PIN,
card number and security code, one-time and verification codes, API, access, secret and private keys, access tokens,
recovery phrases and credentials as such.
"""

from __future__ import annotations

from typing import Final

_DENY: Final[dict[str, str]] = {
    "English, and what other languages took from it": """
        password, passwd, pwd, passphrase, passcode, passwort, api key, api secret, access key, secret key, private key,
        signing key, encryption key, decryption key, master key, account key, deploy key, ssh key, gpg key, pgp key,
        license key, secret, client secret, token, access token, refresh token, auth token, bearer token, session token,
        jwt, credential, authorization code, authorization header, auth code, login code, access code, reset code,
        verification code, confirmation code, authentication code, authenticator code, security code, security answer,
        one time code, sms code, otp, totp, mfa code, two factor code, 2fa, pin, card pin, pin code, pincode, cvv, cvc,
        card number, number on … card, number of your … card, back of … card, card verification, card security,
        social security number, ssn, seed phrase, recovery phrase, secret phrase, recovery code, recovery key,
        backup code, mnemonic, mnemonic phrase, wallet seed, session cookie, bearer, iban, bank account number,
        credit card number, debit card number, payment card number, card details
    """,
    "Spanish": """
        contraseña, clave* de acceso, clave* secreta*, clave* privada*, clave* … api, llave privada, llave secreta,
        número* … tarjeta, código* de seguridad, código* de verificación, código* de un solo uso, credencial*,
        frase de recuperación, frase semilla
    """,
    "Portuguese": """
        senha, palavra* passe, chave* de acesso, chave* secreta*, chave* privada*, chave* … api, número* … cartão,
        código* de segurança, código* de verificação, código* de uso único, credenciais, frase de recuperação
    """,
    "French": """
        mot* de passe, motdepasse, code* secret*, code* confidentiel*, clé* … api, clé* secrète*, clé* privée*,
        clé* d'accès, numéro* … carte, cryptogramme, code* de sécurité, code* de vérification, code à usage unique,
        jeton* d'accès, jeton* d'authentification, identifiants de connexion, phrase de récupération, phrase secrète
    """,
    "Italian": """
        parola d'ordine, codice segreto, numero* … carta, codice di sicurezza, codice di verifica, codice monouso,
        chiave* … api, chiave* segreta, chiave* privata, chiave* d'accesso, chiave* di accesso, credenzial*,
        frase di recupero
    """,
    "German": """
        passwort, passwörter, kennwort, kennwörter, losungswort, geheimzahl, geheimnummer, zugangsdaten, anmeldedaten,
        kartennummer, kartenprüfnummer, prüfziffer, sicherheitscode, bestätigungscode, verifizierungscode, einmalcode,
        zugangscode, api schlüssel, api schluessel, geheim* schlüssel, geheim* schluessel, privat* schlüssel,
        privat* schluessel, zugriffsschlüssel, zugriffstoken, zugangstoken, wiederherstellungsphrase, sms tan
    """,
    "Dutch": """
        wachtwoord*, kaartnummer, beveiligingscode, verificatiecode, toegangscode, eenmalige code, api sleutel*,
        geheime sleutel*, privésleutel, privé sleutel, toegangssleutel, toegangstoken, inloggegevens
    """,
    "Swedish, Danish, Norwegian, Finnish": """
        lösenord*, kortnummer, säkerhetskod, verifieringskod, engångskod, pinkod, api nyckel*, hemlig nyckel,
        privat nyckel, åtkomsttoken, inloggningsuppgifter, adgangskode*, kodeord*, sikkerhedskode, bekræftelseskode,
        engangskode, pinkode, api nøgle*, hemmelig nøgle, privat nøgle, passord*, sikkerhetskode, bekreftelseskode,
        api nøkkel*, hemmelig nøkkel, privat nøkkel, salasan*, kortin numero*, korttinumero*, tunnusluku*,
        turvakoodi*, vahvistuskoodi*, api avain*, salainen avain, yksityinen avain
    """,
    "Polish": """
        hasł*, numer* … kart*, kod* zabezpieczając*, kod* weryfikacyjn*, kod* jednorazow*, kod* sms, kod* pin,
        klucz* … api, klucz* tajn*, klucz* prywatn*, klucz* dostępu, dane logowania, danych logowania
    """,
    "Czech": """
        hesl*, čísl* … kart*, bezpečnostní* kód*, ověřovací* kód*, jednorázov* kód*, klíč* … api, api klíč*,
        tajn* klíč*, soukrom* klíč*, přístupov* údaj*, přihlašovací* údaj*
    """,
    "Hungarian": """
        jelszó*, jelszav*, kártyaszám*, biztonsági kód*, ellenőrző kód*, megerősítő kód*, egyszer használatos, pin kód*,
        api kulcs*, titkos kulcs*, privát kulcs*
    """,
    "Romanian": """
        parolă, parolei, număr* … card*, cod* de securitate, cod* de verificare, chei* … api, chei* secret*,
        chei* privat*
    """,
    "Turkish": """
        şifre*, parola*, kart* … numara*, güvenlik kod*, doğrulama kod*, onay kod*, tek kullanımlık, api anahtar*,
        gizli anahtar*, özel anahtar*, erişim anahtar*, erişim belirte*
    """,
    "Russian and Bulgarian": """
        парол*, parol, кодов* слов*, номер* … карт*, пин, пин код*, пинкод*, код* подтвержд*, код* безопасност*,
        код* из смс, смс код*, одноразов* код*, трёхзначн* код*, секретн* ключ*, приватн* ключ*, закрыт* ключ*,
        ключ* … api, api ключ*, ключ* доступа, токен*, учётн* данн*, номер* … картата
    """,
    "Ukrainian": """
        номер* … картк*, пін, пін код*, код* підтвердж*, код* безпек*, код* з смс, таємн* ключ*, секретн* ключ*,
        ключ* доступу, облікові дані
    """,
    "Greek": """
        κωδικός, κωδικό, κωδικού, κωδικοί, κωδικούς, κωδικών, κωδικ* … πρόσβασης, συνθηματικ*, αριθμ* … κάρτας,
        κωδικ* ασφαλείας, κωδικ* επαλήθευσης, κλειδί api, μυστικό κλειδί, ιδιωτικό κλειδί, διαπιστευτήρια
    """,
    "Chinese": """
        密码, 密碼, 口令, 密钥, 密鑰, 私钥, 私鑰, 助记词, 助記詞, 卡号, 卡號, 验证码, 驗證碼, 安全码, 安全碼,
        动态码, 令牌, 凭据
    """,
    "Japanese": """
        パスワード, パスフレーズ, パスコード, 暗証番号, 合言葉, カード番号, セキュリティコード,
        認証コード, 認証番号, 確認コード, ワンタイム, APIキー, 秘密鍵, 秘密キー, シークレットキー, アクセスキー,
        アクセストークン, 認証トークン, リカバリーフレーズ
    """,
    "Korean": """
        비밀번호, 패스워드, 암호, 비번, 카드번호, 핀번호, 인증번호, 인증코드, 보안코드, API키,
        비밀키, 개인키, 액세스키, 시크릿키, 액세스토큰, 접근토큰, 인증토큰, 복구문구
    """,
    "Thai": """
        รหัสผ่าน, รหัสลับ, หมายเลขบัตร, เลขบัตร, รหัสยืนยัน, รหัสความปลอดภัย, รหัสพิน, กุญแจส่วนตัว, กุญแจลับ
    """,
    "Vietnamese": """
        mật khẩu, số thẻ, mã bảo mật, mã xác minh, mã xác thực, mã otp, khóa api, khóa bí mật, khóa riêng, mã truy cập
    """,
    "Indonesian and Malay": """
        kata sandi*, sandi, sandinya, kata laluan, nomor kartu, kode verifikasi, kode keamanan, kode akses, kunci api,
        kunci rahasia, kunci pribadi
    """,
    "Arabic": """
        كلمة مرور*, كلمه مرور*, كلمة سر*, كلمه سر*, رقم سري*, رمز سري*, رمز مرور*, رقم بطاق*, رمز تحقق*, رمز تأكيد*,
        رمز أمان*, رمز وصول*, مفتاح api, مفتاح سري*, مفتاح خاص*, بيانات اعتماد*, بيانات دخول*, عبارة استرداد*
    """,
    "Persian": """
        رمز عبور*, کلمه عبور*, گذرواژه*, شماره کارت*, رمز کارت*, رمز دوم, رمز پویا, کد تأیید*, کلید api, کلید خصوصی
    """,
    "Hebrew": """
        סיסמ*, קוד … סודי, קוד אימות, קוד אבטחה, קוד חד פעמי, מספר … כרטיס, מפתח api, מפתח פרטי, מפתח סודי,
        אסימון גישה, פרטי התחברות
    """,
    "Hindi": """
        पासवर्ड*, कूटशब्द*, शब्दकूट, कार्ड … नंबर, कार्ड … संख्या, पिन नंबर, एटीएम पिन, कार्ड पिन, गुप्त कोड,
        गोपनीय कोड,
        सत्यापन कोड, सुरक्षा कोड, ओटीपी, एपीआई कुंजी, api कुंजी, गुप्त कुंजी, निजी कुंजी, एक्सेस टोकन
    """,
    "Passwords in further languages": """
        wagwoord*, şifrə*, পাসওয়ার্ড*, lozink*, contrasenya, contrasinal*, cyfrinair, gronidło, pasvort*, salasõna*,
        pasahitz*, focal faire, pasfhocal, facal faire, գաղտնաբառ*, contrasigno, lykilorð*, პაროლ*, құпия сөз*, сырсөз*,
        slaptažod*, лозинк*, രഹസ്യവാക്ക്*, പാസ്സ്‌വേഡ്*, нууц үг*, गुप्तशब्द*, စကားဝှက်, ਪਾਸਵਰਡ, geslo, gesla,
        fjalëkalim*,
        nenosiri, கடவுச்சொல்*, సంకేతపదం, ಪ್ರವೇಶಪದ, ពាក្យសំងាត់, серсүз, پارول
    """,
}

_ALLOW: Final[dict[str, str]] = {
    "English": """
        max token*, min token*, input token*, output token*, total token*, prompt token*, completion token*,
        token count, token limit, token budget, token usage, token length, tokens per, number of tokens,
        count of tokens, how many tokens, token ring, keyboard layout, primary key, foreign key, shipping pin code,
        postal pin code, delivery pin code, area pin code, pin to, pin up, pin this, pin the, map pin, drop pin,
        mnemonic device*, name of the bearer, name of bearer, bearer name, bearer of, ring bearer*, pall bearer*,
        standard bearer*, cost bearer*, risk bearer*, bearer bond*, bearer share*,
        secret santa, secret shopper, passwordless, password less, credentialing
    """,
    "Codes of Greek places and things": """
        ταχυδρομικ* κωδικ*, κωδικ* … χώρας, κωδικ* … περιοχής, κωδικ* … πόλης, κωδικ* … προϊόντ*, κωδικ* … είδους,
        κωδικ* … έκπτωσης, κωδικ* … προσφοράς, κωδικ* … κράτησης, κωδικ* … παραγγελίας, κωδικ* … πελάτη,
        κωδικ* … νομίσματος, κωδικ* … γλώσσας, κωδικ* … πτήσης, κωδικ* … μαθήματος, κωδικ* … δωροκάρτας,
        κωδικ* όνομα, πηγαί* κωδικ*
    """,
    "Cards that pay nothing": """
        tarjeta de embarque, tarjeta de visita, cartão de visita, cartão de embarque, carte d'embarquement,
        carte de visite, carta d'imbarco, kart* pokładow*, כרטיס טיסה, 会员卡号
    """,
    "Words that mean a credential in another language only": """
        parola chiave, quale parola, una parola, la parola, ogni parola, prima parola, количеств* токен*, числ* токен*,
        лимит* токен*, 密码学, 암호화, パスワードレス
    """,
}


def _terms(table: dict[str, str]) -> tuple[str, ...]:
    """The terms of all languages in the order of the table, each once."""
    return tuple(dict.fromkeys(term.strip() for listed in table.values() for term in listed.split(",")))


DENY: Final[tuple[str, ...]] = _terms(_DENY)
ALLOW: Final[tuple[str, ...]] = _terms(_ALLOW)
