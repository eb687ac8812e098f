// Sign-in with email and password, a second factor, or single sign-on, without the libraries of the other pages: over a slow
// line it is used while they load.

import type { SignInShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure, call, callSignIn } from '../../api.ts';
import { documentsOf } from '../../documents.ts';
import { signInFailureText } from './failure-text.ts';
import { formStyles } from './form-styles.ts';
import { issuerRefusal, redirectToIssuer } from './single-sign-on.ts';

/** Draws the sign-in into an element. `onSignedIn` is called once a session has started. Returns what removes it. */
export function showSignIn(place: HTMLElement, onSignedIn: () => void): () => void {
  addStyles();
  const name = element('header', { className: 'si-name' });
  const card = element('div', { className: 'si-card' });
  const footer = element('footer', { className: 'si-footer' });
  place.replaceChildren(element('div', { className: 'si' }, name, element('main', { id: 'content' }, card), footer));
  const reading = call('GET /sign-in').catch(() => null);
  void reading.then((read) => read !== null && showInstallation(read, name, footer));
  showFirstStep(card, reading, onSignedIn);
  return () => place.replaceChildren();
}

type Reading = Promise<SignInShape | null>;

function showInstallation({ installation, pages, terms }: SignInShape, place: HTMLElement, below: HTMLElement): void {
  const { name, logo, support } = installation;
  document.title = `${document.title} · ${name}`;
  const ownLogo = document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.href ?? '';
  place.append(element('img', { src: logo ?? ownLogo, alt: '' }), name);
  if (pages.models) below.append(element('a', { href: '/console/pricing' }, 'Models and prices'));
  if (pages.status) below.append(element('a', { href: '/console/status' }, 'Status'));
  const isPage = support?.startsWith('https://') ?? false;
  const inNewTab = { target: '_blank', rel: 'noopener noreferrer' };
  if (support !== null)
    below.append(
      element(
        'a',
        { href: isPage ? support : `mailto:${support}`, ...(isPage && inNewTab) },
        isPage ? 'Contact support' : support,
      ),
    );
  for (const document of documentsOf(terms))
    below.append(element('a', { href: document.href, ...inNewTab }, document.name));
}

function showFirstStep(card: HTMLElement, reading: Reading, onSignedIn: () => void): void {
  document.title = 'Sign in';
  const email = field('Email', {
    type: 'email',
    name: 'email',
    autocomplete: 'username',
    autocapitalize: 'none',
    spellcheck: false,
  });
  const password = field('Password', { type: 'password', name: 'password', autocomplete: 'current-password' });
  const form = makeForm('Sign in', [email.place, withToggle(password)], async () => {
    const body = { email: email.input.value, password: password.input.value };
    const { twoFactorRedirect } = await callSignIn('POST /sign-in/email', { body });
    if (twoFactorRedirect === true) showSecondFactor(card, reading, onSignedIn, false);
    else onSignedIn();
  });
  const error = new URLSearchParams(location.search).get('error');
  const refusal = issuerRefusal(error ?? undefined);
  const hint = element('div', {});
  const others = element('div', { className: 'si-others' });
  card.replaceChildren(
    element('h1', {}, 'Sign in'),
    ...(refusal === null ? [] : [alert(refusal, 'Sign-in failed')]),
    hint,
    form,
    others,
  );
  email.input.focus();
  void reading.then((read) => read !== null && showOtherWays(read, hint, others));
}

/** What those who have no password, or cannot sign in, can do. */
function showOtherWays(read: SignInShape, hint: HTMLElement, place: HTMLElement): void {
  if (read.first_operator)
    hint.append(
      element(
        'div',
        { className: 'si-note' },
        element('strong', {}, 'Set up Turnpike'),
        element(
          'div',
          {},
          'Open the setup link that the service printed at its first start. The link is also in this file of the data directory: ',
          element('code', {}, 'first-operator.txt'),
        ),
      ),
    );
  if (read.issuers.length > 0) place.append(element('div', { className: 'si-or' }, 'or'));
  for (const issuer of read.issuers) place.append(issuerButton(issuer));
  if (read.password_reset) place.append(element('a', { href: '/console/password-reset' }, 'Forgot your password?'));
  if (read.sign_up !== null)
    place.append(element('div', {}, 'No account yet? ', element('a', { href: '/console/sign-up' }, 'Sign up')));
  const lost = read.password_reset ? 'lost your second factor' : 'forgot your password or lost your second factor';
  place.append(element('p', {}, `If you ${lost}, ask the person who invited you for a new one-time link.`));
}

function issuerButton({ id, name }: SignInShape['issuers'][number]): HTMLElement {
  const place = element('div', { className: 'si-stack' });
  const button = element('button', { type: 'button', className: 'si-other' }, `Continue with ${name}`);
  button.addEventListener('click', () => void whileBusy(button, place, () => redirectToIssuer(id)));
  place.append(button);
  return place;
}

/** The codes of better-auth for an expired sign-in, as opposed to a wrong code. */
const EXPIRED_REASONS: readonly (string | null)[] = ['INVALID_TWO_FACTOR_COOKIE', 'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE'];

function showSecondFactor(card: HTMLElement, reading: Reading, onSignedIn: () => void, isBackup: boolean): void {
  const code = field(isBackup ? 'Backup code' : 'Code', {
    name: 'code',
    autocomplete: 'one-time-code',
    autocapitalize: 'none',
    spellcheck: false,
    ...(!isBackup && { inputMode: 'numeric' }),
  });
  const startOver = () => showFirstStep(card, reading, onSignedIn);
  const form = makeForm('Continue', [code.place], async () => {
    const typed = isBackup ? code.input.value.trim() : code.input.value.replace(/\s/g, '');
    const name = isBackup ? 'POST /two-factor/verify-backup-code' : 'POST /two-factor/verify-totp';
    try {
      await callSignIn(name, { body: { code: typed } });
    } catch (failure) {
      code.input.value = '';
      if (!(failure instanceof ApiFailure) || !EXPIRED_REASONS.includes(failure.reason)) throw failure;
      const again = element('button', { type: 'button' }, 'Start over');
      again.addEventListener('click', startOver);
      const text = 'The sign-in timed out, or too many wrong codes were entered. Start over with your password.';
      form.replaceChildren(alert(text), again);
      return;
    }
    onSignedIn();
  });
  const link = (label: string, onClick: () => void) => {
    const button = element('button', { type: 'button', className: 'si-link' }, label);
    button.addEventListener('click', onClick);
    return button;
  };
  const other = isBackup ? 'Use the authenticator app' : 'Use a backup code';
  const hint = isBackup
    ? 'Enter one of your backup codes. Each code works once.'
    : 'Enter the six-digit code from your authenticator app.';
  card.replaceChildren(
    element('h1', {}, 'Second factor'),
    element('p', {}, hint),
    form,
    element(
      'div',
      { className: 'si-row' },
      link(other, () => showSecondFactor(card, reading, onSignedIn, !isBackup)),
      link('Start over', startOver),
    ),
  );
  code.input.focus();
}

/** A form with one button, which shows the failure of its action. */
function makeForm(label: string, fields: readonly HTMLElement[], action: () => Promise<void>): HTMLFormElement {
  const button = element('button', { type: 'submit' }, label);
  const failure = element('div', {});
  const form = element('form', { className: 'si-stack' }, ...fields, failure, button);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void whileBusy(button, failure, action);
  });
  return form;
}

/** Shows the failure of the action, and keeps the button from being used meanwhile. */
async function whileBusy(button: HTMLButtonElement, place: HTMLElement, action: () => Promise<void>): Promise<void> {
  for (const old of place.querySelectorAll('[role="alert"]')) old.remove();
  button.disabled = true;
  try {
    await action();
  } catch (failure) {
    place.append(alert(signInFailureText(failure)));
  } finally {
    button.disabled = false;
  }
}

interface Field {
  place: HTMLElement;
  input: HTMLInputElement;
}

function field(label: string, attributes: Partial<HTMLInputElement> | Record<string, unknown>): Field {
  const input = element('input', { required: true, ...attributes });
  return { input, place: element('label', {}, element('span', {}, label), input) };
}

/** With a button that shows the password. */
function withToggle({ place, input }: Field): HTMLElement {
  const button = element('button', { type: 'button', className: 'si-show', ariaLabel: 'Show password' });
  button.addEventListener('click', () => {
    const isShown = input.type === 'password';
    input.type = isShown ? 'text' : 'password';
    button.ariaPressed = String(isShown);
  });
  return element('div', { className: 'si-password' }, place, button);
}

function alert(text: string, title?: string): HTMLElement {
  const place = element('div', { className: 'si-alert', role: 'alert' });
  if (title !== undefined) place.append(element('strong', {}, title));
  place.append(element('div', {}, text));
  return place;
}

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, unknown>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
}

/** Once for the page, with the nonce that its policy asks for. */
function addStyles(): void {
  if (document.getElementById('sign-in-styles') !== null) return;
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
  const style = element('style', { id: 'sign-in-styles', nonce }, formStyles);
  document.head.append(style);
}
