// The door of delivery: mails to people.

export { type MailContent, type MailKind, type Notice, plainName, writeLetter, writeNotice } from './letters.ts';
export { type Letter, type LetterFrame, renderHtml, renderText } from './render-letter.ts';
export { type MailMessage, type MailOutcome, type MailSender, makeMailSender } from './send-mail.ts';
