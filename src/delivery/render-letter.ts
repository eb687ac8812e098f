// A letter as plain text and as HTML. One layout for all mails: no images, nothing loaded from elsewhere, readable in
// light and dark mail programs. All text is escaped here.

export interface Letter {
  subject: string;
  /** The first line; the subject without names. */
  heading: string;
  paragraphs: readonly string[];
  /** Rows of name and value. */
  facts?: readonly (readonly [name: string, value: string])[];
  /** The link that the mail is about. */
  action?: { label: string; url: string };
  /** Below the link, smaller: what to do if the mail was not expected. */
  notes: readonly string[];
}

/** The installation, as mails name it. */
export interface MailIdentity {
  name: string;
  /** An email address or an https:// URL; null: none. */
  support: string | null;
}

/** Who sends it, and how to get no more of them. */
export interface LetterFrame {
  /** The origin of the console. */
  publicUrl: string;
  sender: MailIdentity;
  /** A page to unsubscribe; null: the mail is about security. */
  unsubscribePage: string | null;
}

export function renderText(letter: Letter, frame: LetterFrame): string {
  const { unsubscribePage, sender } = frame;
  const { heading, paragraphs, facts = [], action, notes } = letter;
  const width = Math.max(0, ...facts.map(([name]) => name.length)) + 1;
  const blocks = [
    heading,
    ...paragraphs,
    facts.map(([name, value]) => `${`${name}:`.padEnd(width)} ${value}`).join('\n'),
    action === undefined ? '' : `${action.label}:\n${action.url}`,
    ...notes,
    [
      `-- \n${senderOf(frame)}`,
      sender.support === null ? '' : `Support: ${sender.support}`,
      unsubscribePage === null ? '' : `Unsubscribe: ${unsubscribePage}`,
    ]
      .filter((line) => line !== '')
      .join('\n'),
  ];
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
}

function senderOf({ publicUrl, sender }: LetterFrame): string {
  return `Sent by ${sender.name} at ${new URL(publicUrl).host}`;
}

// Colors have a contrast of at least 4.5:1 in both schemes.
const STYLE = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background: #16181c !important; }
  .card { background: #212429 !important; border-color: #3a3f47 !important; }
  .ink, .ink a { color: #f1f3f5 !important; }
  .faint, .faint a { color: #adb5bd !important; }
  .rule { border-color: #3a3f47 !important; }
}
@media (max-width: 620px) { .card { padding: 24px 20px !important; } }`;
const FONT = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const INK = `${FONT};font-size:16px;line-height:24px;color:#212529`;
const FAINT = `${FONT};font-size:13px;line-height:20px;color:#5c636a`;
const BUTTON = `${FONT};font-size:16px;line-height:24px;font-weight:600;color:#ffffff;background:#1864ab;border:1px solid #1864ab;border-radius:6px;padding:10px 20px;text-decoration:none;display:inline-block`;

export function renderHtml(letter: Letter, frame: LetterFrame): string {
  const { subject, heading, paragraphs, facts = [], action, notes } = letter;
  const small = (text: string) => `<p class="faint" style="margin:0 0 12px;${FAINT}">${escapeHtml(text)}</p>`;
  return `<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${STYLE}
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f1f3f5">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" style="background:#f1f3f5"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;text-align:left"><tr><td class="card" style="background:#ffffff;border:1px solid #dee2e6;border-radius:8px;padding:32px">
<h1 class="ink" style="margin:0 0 16px;${INK};font-size:22px;line-height:30px;font-weight:600;overflow-wrap:anywhere">${escapeHtml(heading)}</h1>
${paragraphs.map((text) => `<p class="ink" style="margin:0 0 16px;${INK};overflow-wrap:anywhere">${escapeHtml(text)}</p>`).join('\n')}
${facts.length === 0 ? '' : factsHtml(facts)}
${action === undefined ? '' : actionHtml(action)}
${notes.map(small).join('\n')}
</td></tr><tr><td style="padding:16px 8px 0">
<p class="faint" style="margin:0;${FAINT}">${[escapeHtml(senderOf(frame)), ...linksHtml(frame)].join(' · ')}</p>
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}

function linksHtml({ unsubscribePage, sender: { support } }: LetterFrame): string[] {
  const link = (url: string, label: string) =>
    `<a href="${escapeHtml(url)}" style="color:#5c636a">${escapeHtml(label)}</a>`;
  return [
    ...(support === null ? [] : [link(support.startsWith('https://') ? support : `mailto:${support}`, 'Support')]),
    ...(unsubscribePage === null ? [] : [link(unsubscribePage, 'Unsubscribe')]),
  ];
}

function factsHtml(facts: NonNullable<Letter['facts']>): string {
  const cell = 'padding:8px 12px 8px 0;border-bottom:1px solid #dee2e6;vertical-align:top;overflow-wrap:anywhere';
  const rows = facts.map(
    ([name, value]) =>
      `<tr><th scope="row" align="left" class="faint rule" style="${cell};${FAINT};line-height:24px;font-weight:400;width:40%">${escapeHtml(name)}</th><td class="ink rule" style="${cell};${INK}">${escapeHtml(value)}</td></tr>`,
  );
  return `<table width="100%" cellpadding="0" cellspacing="0" style="margin:0 0 24px;border-collapse:collapse;table-layout:fixed">${rows.join('')}</table>`;
}

/** The address is also written out: some people copy it, and some mail programs remove links. */
function actionHtml({ label, url }: NonNullable<Letter['action']>): string {
  return `<p style="margin:8px 0 24px"><a href="${escapeHtml(url)}" style="${BUTTON}">${escapeHtml(label)}</a></p>
<p class="faint" style="margin:0 0 16px;${FAINT};overflow-wrap:anywhere">If the button does not work, open this address: <a href="${escapeHtml(url)}" style="color:#5c636a">${escapeHtml(url)}</a></p>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
