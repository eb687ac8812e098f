// The services that an installation may be connected to, with the variables that connect it.

import type { Config } from './config.ts';

export const integrationIds = ['mail', 'payments', 'sign_in', 'telemetry', 'storage'] as const;
export type IntegrationId = (typeof integrationIds)[number];

const OF_LINKS = 'TURNPIKE_PUBLIC_URL'; // the origin of links, and of the pages to which people return

/** The variables that must be set; storage is set by each export. */
export const integrationSettings: Readonly<Record<IntegrationId, readonly string[]>> = {
  mail: ['TURNPIKE_SMTP_URL', 'TURNPIKE_MAIL_FROM', OF_LINKS],
  payments: ['TURNPIKE_STRIPE_SECRET_KEY', 'TURNPIKE_STRIPE_WEBHOOK_SECRET', OF_LINKS],
  sign_in: ['TURNPIKE_OIDC_ISSUER', 'TURNPIKE_OIDC_CLIENT_ID', 'TURNPIKE_OIDC_CLIENT_SECRET', OF_LINKS],
  telemetry: ['OTEL_EXPORTER_OTLP_ENDPOINT'],
  storage: [],
};

/** Where each integration leads, without secrets; null: it is not set. The settings of storage are in the store. */
export function placesOf({
  mail,
  stripe,
  issuers,
  telemetry,
}: Pick<Config, 'mail' | 'stripe' | 'issuers' | 'telemetry'>): Record<
  Exclude<IntegrationId, 'storage'>,
  string | null
> {
  const collectors = [telemetry?.traces, telemetry?.metrics].flatMap((one) => (one ? [new URL(one.url).origin] : []));
  return {
    mail: mail && `${mail.host}:${mail.port}`,
    payments: stripe && (stripe.apiUrl ?? 'Stripe'),
    sign_in: issuers.length === 0 ? null : issuers.map(({ issuer }) => issuer).join(', '),
    telemetry: collectors.length === 0 ? null : [...new Set(collectors)].join(', '),
  };
}
