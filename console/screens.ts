// The table of pages: the map of the console. Path, file, roles and navigation entry of each page. A page's file loads
// on demand.

import type { ComponentType } from 'react';
import type { MeShape } from '../src/admin-api/shapes.ts';
import type { IconName } from './parts/link.tsx';

type Role = 'operator' | 'viewer' | 'owner' | 'member';
type Load = () => Promise<ComponentType>;

export interface Screen {
  path: string;
  load: Load;
  /** The roles that see the page. The admin API decides what they can do there. */
  roles: readonly Role[];
  /** It only shows what the operator may hide from accounts. */
  shows?: MeShape['hidden'][number];
  /** Its entry in the navigation, if any. */
  nav?: { section: NavSection; label: string; icon: IconName };
}

export type NavSection = 'monitoring' | 'developers' | 'catalog' | 'customers' | 'administration';

const everyone: readonly Role[] = ['operator', 'viewer', 'owner', 'member'];
const accountReaders: readonly Role[] = ['operator', 'viewer', 'owner'];
const accountCreators: readonly Role[] = ['operator', 'owner'];
const installation: readonly Role[] = ['operator', 'viewer'];
const operators: readonly Role[] = ['operator'];
const keyCreators: readonly Role[] = ['operator', 'owner', 'member'];
const accountManagers: readonly Role[] = ['operator', 'owner'];
const holdersOfKeys: readonly Role[] = ['owner', 'member'];
const ownersOnly: readonly Role[] = ['owner'];

/** Whether the user sees the page. */
export function isShown({ roles, shows }: Screen, { role, hidden }: Pick<MeShape, 'role' | 'hidden'>): boolean {
  return roles.includes(role) && (shows === undefined || !hidden.includes(shows));
}

/** Whether the page with parameters in its path, "/keys/$keyId", has this address. */
export function isAt(address: string, path: string): boolean {
  const [parts, wanted] = [address.split('/'), path.split('/')];
  return parts.length === wanted.length && wanted.every((part, at) => part.startsWith('$') || part === parts[at]);
}

export const screens: readonly Screen[] = [
  {
    path: '/',
    load: async () => (await import('./features/overview/show.tsx')).OverviewShow,
    roles: everyone,
    nav: { section: 'monitoring', label: 'Overview', icon: 'gauge' },
  },
  {
    path: '/usage',
    load: async () => (await import('./features/requests/list.tsx')).UsageList,
    roles: everyone,
    nav: { section: 'monitoring', label: 'Usage', icon: 'list' },
  },
  {
    path: '/usage/$requestId',
    load: async () => (await import('./features/requests/show.tsx')).UsageShow,
    roles: everyone,
  },
  {
    path: '/session',
    load: async () => (await import('./features/requests/session.tsx')).SessionShow,
    roles: everyone,
  },
  {
    path: '/rejected',
    load: async () => (await import('./features/rejected/list.tsx')).RejectedList,
    roles: everyone,
  },
  {
    path: '/batches',
    load: async () => (await import('./features/batches/list.tsx')).BatchList,
    roles: everyone,
    nav: { section: 'monitoring', label: 'Batches', icon: 'layers' },
  },
  {
    path: '/batches/$clientBatchId',
    load: async () => (await import('./features/batches/show.tsx')).BatchShow,
    roles: everyone,
  },
  {
    path: '/margin',
    load: async () => (await import('./features/margin/show.tsx')).MarginShow,
    roles: installation,
    nav: { section: 'monitoring', label: 'Margin', icon: 'percent' },
  },
  {
    path: '/events',
    load: async () => (await import('./features/events/list.tsx')).EventList,
    roles: accountReaders,
    nav: { section: 'monitoring', label: 'Events', icon: 'bell' },
  },
  {
    path: '/deliveries',
    load: async () => (await import('./features/destinations/deliveries.tsx')).DeliveryList,
    roles: accountReaders,
  },
  {
    path: '/deliveries/$deliveryId',
    load: async () => (await import('./features/destinations/delivery.tsx')).DeliveryShow,
    roles: accountReaders,
  },
  {
    path: '/billing',
    load: async () => (await import('./features/billing/overview.tsx')).BillingShow,
    roles: ownersOnly,
    nav: { section: 'monitoring', label: 'Billing', icon: 'wallet' },
  },
  {
    path: '/billing/plan',
    load: async () => (await import('./features/plans/of-account.tsx')).AccountPlan,
    roles: ownersOnly,
  },
  {
    path: '/billing/payments',
    load: async () => (await import('./features/payments/of-account.tsx')).AccountPayments,
    roles: ownersOnly,
  },
  {
    path: '/billing/transactions',
    load: async () => (await import('./features/billing/by-day.tsx')).TransactionList,
    roles: ownersOnly,
  },
  {
    path: '/keys',
    load: async () => (await import('./features/keys/list.tsx')).KeyList,
    roles: everyone,
    nav: { section: 'developers', label: 'API keys', icon: 'key' },
  },
  { path: '/keys/new', load: async () => (await import('./features/keys/create.tsx')).KeyCreate, roles: keyCreators },
  { path: '/keys/$keyId', load: async () => (await import('./features/keys/show.tsx')).KeyShow, roles: everyone },
  {
    path: '/agent-sign-ins',
    load: async () => (await import('./features/agents/list.tsx')).AgentSignInList,
    roles: everyone,
    nav: { section: 'developers', label: 'Coding agents', icon: 'person' },
  },
  {
    path: '/device',
    load: async () => (await import('./features/agents/device.tsx')).DeviceShow,
    roles: holdersOfKeys,
  },
  {
    path: '/playground',
    load: async () => (await import('./features/playground/show.tsx')).Playground,
    roles: everyone,
    nav: { section: 'developers', label: 'Playground', icon: 'play' },
  },
  {
    path: '/models',
    load: async () => (await import('./features/models/list.tsx')).ModelList,
    roles: everyone,
    nav: { section: 'catalog', label: 'Models', icon: 'cube' },
  },
  {
    path: '/models/$modelName',
    load: async () => (await import('./features/models/show.tsx')).ModelShow,
    roles: everyone,
  },
  {
    path: '/models/$modelName/edit',
    load: async () => (await import('./features/models/form.tsx')).ModelEdit,
    roles: operators,
  },
  { path: '/models/new', load: async () => (await import('./features/models/form.tsx')).ModelCreate, roles: operators },
  {
    path: '/groups',
    load: async () => (await import('./features/groups/list.tsx')).GroupList,
    roles: everyone,
    shows: 'group',
    nav: { section: 'catalog', label: 'Groups', icon: 'layers' },
  },
  {
    path: '/plans',
    load: async () => (await import('./features/plans/list.tsx')).PlanList,
    roles: installation,
    nav: { section: 'catalog', label: 'Plans', icon: 'calendar' },
  },
  {
    path: '/providers',
    load: async () => (await import('./features/providers/list.tsx')).ProviderList,
    roles: installation,
    nav: { section: 'catalog', label: 'Providers', icon: 'plug' },
  },
  {
    path: '/providers/$providerName',
    load: async () => (await import('./features/providers/show.tsx')).ProviderShow,
    roles: installation,
  },
  {
    path: '/providers/$providerName/models',
    load: async () => (await import('./features/providers/models.tsx')).ProviderModels,
    roles: operators,
  },
  {
    path: '/providers/new',
    load: async () => (await import('./features/providers/create.tsx')).ProviderCreate,
    roles: operators,
  },
  {
    path: '/provider-bills',
    load: async () => (await import('./features/provider-bills/list.tsx')).ProviderBillList,
    roles: installation,
    nav: { section: 'catalog', label: 'Provider bills', icon: 'card' },
  },
  {
    path: '/provider-bills/$billId',
    load: async () => (await import('./features/provider-bills/show.tsx')).ProviderBillShow,
    roles: installation,
  },
  {
    path: '/accounts',
    load: async () => (await import('./features/accounts/list.tsx')).AccountList,
    roles: accountReaders,
    nav: { section: 'customers', label: 'Accounts', icon: 'building' },
  },
  {
    path: '/accounts/new',
    load: async () => (await import('./features/accounts/create.tsx')).AccountCreate,
    roles: accountCreators,
  },
  {
    path: '/accounts/$accountId',
    load: async () => (await import('./features/accounts/show.tsx')).AccountShow,
    roles: accountReaders,
  },
  {
    path: '/accounts/$accountId/billing',
    load: async () => (await import('./features/billing/overview.tsx')).BillingShow,
    roles: accountReaders,
  },
  {
    path: '/accounts/$accountId/plan',
    load: async () => (await import('./features/plans/of-account.tsx')).AccountPlan,
    roles: accountReaders,
  },
  {
    path: '/accounts/$accountId/payments',
    load: async () => (await import('./features/payments/of-account.tsx')).AccountPayments,
    roles: accountReaders,
  },
  {
    path: '/accounts/$accountId/transactions',
    load: async () => (await import('./features/billing/by-day.tsx')).TransactionList,
    roles: accountReaders,
  },
  {
    path: '/accounts/$accountId/statement',
    load: async () => (await import('./features/billing/statement.tsx')).StatementShow,
    roles: accountReaders,
  },
  {
    path: '/payments',
    load: async () => (await import('./features/payments/list.tsx')).PaymentList,
    roles: installation,
    nav: { section: 'customers', label: 'Payments', icon: 'card' },
  },
  {
    path: '/codes',
    load: async () => (await import('./features/codes/list.tsx')).CodeBatchList,
    roles: installation,
    nav: { section: 'customers', label: 'Redemption codes', icon: 'gift' },
  },
  {
    path: '/codes/$batchId',
    load: async () => (await import('./features/codes/show.tsx')).CodeBatchShow,
    roles: installation,
  },
  {
    path: '/people',
    load: async () => (await import('./features/people/list.tsx')).PersonList,
    roles: accountReaders,
    nav: { section: 'customers', label: 'Users', icon: 'people' },
  },
  {
    path: '/directory-groups',
    load: async () => (await import('./features/directory-groups/list.tsx')).DirectoryGroupList,
    roles: installation,
    nav: { section: 'customers', label: 'Directory groups', icon: 'layers' },
  },
  {
    path: '/settings',
    load: async () => (await import('./features/settings/list.tsx')).SettingList,
    roles: installation,
    nav: { section: 'administration', label: 'Settings', icon: 'sliders' },
  },
  {
    path: '/integrations',
    load: async () => (await import('./features/integrations/list.tsx')).IntegrationList,
    roles: installation,
    nav: { section: 'administration', label: 'Integrations', icon: 'plug' },
  },
  {
    path: '/destinations',
    load: async () => (await import('./features/destinations/list.tsx')).DestinationList,
    roles: accountReaders,
    nav: { section: 'administration', label: 'Notifications', icon: 'send' },
  },
  {
    path: '/destinations/new',
    load: async () => (await import('./features/destinations/create.tsx')).DestinationCreate,
    roles: accountManagers,
  },
  {
    path: '/destinations/$destinationId',
    load: async () => (await import('./features/destinations/show.tsx')).DestinationShow,
    roles: accountReaders,
  },
  {
    path: '/exports',
    load: async () => (await import('./features/exports/list.tsx')).ExportList,
    roles: accountReaders,
    nav: { section: 'monitoring', label: 'Exports', icon: 'download' },
  },
  {
    path: '/exports/new',
    load: async () => (await import('./features/exports/create.tsx')).ExportCreate,
    roles: accountManagers,
  },
  {
    path: '/exports/$exportId',
    load: async () => (await import('./features/exports/show.tsx')).ExportShow,
    roles: accountReaders,
  },
  {
    path: '/tokens',
    load: async () => (await import('./features/tokens/list.tsx')).TokenList,
    roles: accountReaders,
    nav: { section: 'administration', label: 'Admin tokens', icon: 'ticket' },
  },
  {
    path: '/audit',
    load: async () => (await import('./features/audit/list.tsx')).AuditList,
    roles: accountReaders,
    nav: { section: 'administration', label: 'Audit log', icon: 'history' },
  },
  {
    path: '/reference',
    load: async () => (await import('./features/reference/show.tsx')).Reference,
    roles: everyone,
    nav: { section: 'developers', label: 'API reference', icon: 'book' },
  },
  { path: '/profile', load: async () => (await import('./features/profile/show.tsx')).ProfileShow, roles: everyone },
];

/** Pages before sign-in. */
export const publicScreens: readonly Omit<Screen, 'roles'>[] = [
  { path: '/invitation', load: async () => (await import('./features/sign-in/invitation.tsx')).InvitationAccept },
  {
    path: '/password-reset',
    load: async () => (await import('./features/sign-in/password-reset.tsx')).PasswordReset,
  },
  { path: '/sign-up', load: async () => (await import('./features/sign-in/sign-up.tsx')).SignUp },
  { path: '/unsubscribe', load: async () => (await import('./features/sign-in/unsubscribe.tsx')).Unsubscribe },
];

/** Pages to read before sign-in. */
export const readingScreens: readonly Omit<Screen, 'roles'>[] = [
  { path: '/terms', load: async () => (await import('./features/public/terms.tsx')).TermsOfService },
  { path: '/pricing', load: async () => (await import('./features/public/models.tsx')).PublicModels },
  { path: '/status', load: async () => (await import('./features/public/status.tsx')).PublicStatus },
  { path: '/privacy', load: async () => (await import('./features/public/terms.tsx')).PrivacyPolicy },
];
