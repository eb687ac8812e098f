// The words of the pages for whoever is not signed in: sign-in and one-time links.

export const signInWords = {
  title: 'Sign in',
  email: 'E-mail',
  password: 'Password',
  showPassword: 'Show the password',
  submit: 'Sign in',
  or: 'or',
  singleSignOn: (name: string) => `Continue with ${name}`,
  forgotten: 'Password forgotten, or the second factor lost? Ask whoever invited you for a new one-time link.',
  firstTitle: 'Nobody operates this installation yet',
  firstText:
    'The link for the first operator was printed when the service started, or stands in this file of its data directory:',
  firstFile: 'first-operator.txt',
  secondTitle: 'Second factor',
  secondText: 'Enter the six digits that your authenticator app shows now.',
  code: 'Code',
  backupText: 'Enter one of the backup codes that you kept. Each is good for one time.',
  backupCode: 'Backup code',
  useBackup: 'Use a backup code instead',
  useApp: 'Use the authenticator app instead',
  verify: 'Continue',
  startAgain: 'Begin again',
  throttled: (seconds: number | null) =>
    seconds === null ? 'Too many tries. Wait a while.' : `Too many tries. Try again in ${wait(seconds)}.`,
  ended: 'That took too long, or there were too many wrong codes. Begin again with your password.',
  issuerRefusals: {
    person_unknown: 'Nobody has invited this e-mail address here. Ask an operator for an invitation.',
    person_disabled: 'Your access has been disabled. Ask an operator.',
    email_not_verified: 'The provider of single sign-on has not verified your e-mail address.',
    email_not_found: 'The provider of single sign-on does not tell your e-mail address.',
    email_changed: 'Your e-mail address at the provider of single sign-on is another than before. Ask an operator.',
    store_unavailable: 'Signing in is not possible at the moment. Try again shortly.',
    access_denied: 'You were not signed in there, or did not let the provider of single sign-on tell who you are.',
    state_mismatch: 'That took too long, or began in another window. Try again.',
    please_restart_the_process: 'That took too long, or began in another window. Try again.',
  } as Readonly<Record<string, string>>,
  issuerFailed: (code: string) => `Single sign-on did not work (${code}). Try again, or ask an operator.`,
  issuerTitle: 'Not signed in',
  issuerAddress: 'Single sign-on leads to an address that is none.',
} as const;

export const invitationWords = {
  title: 'You are invited',
  recoveryTitle: 'Choose a new password',
  firstTitle: 'Become the first operator',
  text: (role: string, account: string | null) =>
    account === null
      ? `You will sign in as ${role} of this installation.`
      : `You will sign in as ${role} of ${account}.`,
  recoveryText: (role: string, account: string | null) =>
    `${account === null ? `You are ${role} of this installation.` : `You are ${role} of ${account}.`} Your second factor is removed and every session ends; set it up again afterwards.`,
  until: 'The link is good until',
  email: 'E-mail',
  emailHint: 'You sign in by it.',
  name: 'Your name',
  nameHint: 'As others see it here.',
  password: 'Password',
  passwordHint: 'At least 10 characters. A few words together are easier to keep than one odd one.',
  passwordShort: (least: number) => `must have at least ${least} characters`,
  passwordLong: (max: number) => `must have at most ${max} characters`,
  secondHint: 'A second factor can be set up afterwards, under your name at the top.',
  accept: 'Accept and sign in',
  recover: 'Set the password and sign in',
  missingTitle: 'There is no link here',
  missingText: 'Open the link again as you were given it: it was removed from the address of this page.',
  goneTitle: 'This link does not open anything',
  goneText: 'It was used already, has ended, or another one took its place. Ask whoever sent it for a new one.',
  toSignIn: 'To the sign-in',
  acceptedTitle: 'Done',
  acceptedText: 'You can sign in now, by your e-mail and the password that you chose.',
} as const;

function wait(seconds: number): string {
  if (seconds < 90) return `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}
