// The table of pages: the map of the console. Which file shows what, to whom, and where the navigation has it.
// A page's file is fetched when somebody goes there.

import type { ComponentType } from 'react';
import type { IconName } from './parts/icon.tsx';
import { words } from './words.ts';

type Role = 'operator' | 'viewer' | 'owner' | 'member';
type Load = () => Promise<ComponentType>;

export interface Screen {
  path: string;
  load: Load;
  /** Who is shown it; what they may do there is the admin API's to say. */
  roles: readonly Role[];
  /** Its place in the navigation, for those that have one. */
  nav?: { section: NavSection; label: string; icon: IconName };
}

export type NavSection = 'traffic' | 'build' | 'selling' | 'people' | 'installation';

const everyone: readonly Role[] = ['operator', 'viewer', 'owner', 'member'];
const holders: readonly Role[] = ['operator', 'viewer', 'owner'];
const installation: readonly Role[] = ['operator', 'viewer'];
const operators: readonly Role[] = ['operator'];
const keyMakers: readonly Role[] = ['operator', 'owner', 'member'];
const accountsOwn: readonly Role[] = ['owner'];

const { nav } = words;

export const screens: readonly Screen[] = [
  {
    path: '/',
    load: async () => (await import('./pages/overview-show.tsx')).OverviewShow,
    roles: everyone,
    nav: { section: 'traffic', label: nav.overview, icon: 'gauge' },
  },
  {
    path: '/usage',
    load: async () => (await import('./pages/usage-list.tsx')).UsageList,
    roles: everyone,
    nav: { section: 'traffic', label: nav.usage, icon: 'list' },
  },
  { path: '/usage/$requestId', load: async () => (await import('./pages/usage-show.tsx')).UsageShow, roles: everyone },
  {
    path: '/balance',
    load: async () => (await import('./pages/balance-show.tsx')).OwnBalanceShow,
    roles: accountsOwn,
    nav: { section: 'traffic', label: nav.balance, icon: 'wallet' },
  },
  {
    path: '/keys',
    load: async () => (await import('./pages/key-list.tsx')).KeyList,
    roles: everyone,
    nav: { section: 'build', label: nav.keys, icon: 'key' },
  },
  { path: '/keys/new', load: async () => (await import('./pages/key-create.tsx')).KeyCreate, roles: keyMakers },
  { path: '/keys/$keyId', load: async () => (await import('./pages/key-show.tsx')).KeyShow, roles: everyone },
  {
    path: '/playground',
    load: async () => (await import('./pages/playground.tsx')).Playground,
    roles: everyone,
    nav: { section: 'build', label: nav.playground, icon: 'play' },
  },
  {
    path: '/models',
    load: async () => (await import('./pages/model-list.tsx')).ModelList,
    roles: everyone,
    nav: { section: 'selling', label: nav.models, icon: 'cube' },
  },
  { path: '/models/$modelName', load: async () => (await import('./pages/model-show.tsx')).ModelShow, roles: everyone },
  {
    path: '/models/$modelName/edit',
    load: async () => (await import('./pages/model-edit.tsx')).ModelEdit,
    roles: operators,
  },
  { path: '/new-model', load: async () => (await import('./pages/model-create.tsx')).ModelCreate, roles: operators },
  {
    path: '/groups',
    load: async () => (await import('./pages/group-list.tsx')).GroupList,
    roles: everyone,
    nav: { section: 'selling', label: nav.groups, icon: 'layers' },
  },
  {
    path: '/providers',
    load: async () => (await import('./pages/provider-list.tsx')).ProviderList,
    roles: installation,
    nav: { section: 'selling', label: nav.providers, icon: 'plug' },
  },
  {
    path: '/providers/$providerName',
    load: async () => (await import('./pages/provider-show.tsx')).ProviderShow,
    roles: installation,
  },
  {
    path: '/new-provider',
    load: async () => (await import('./pages/provider-create.tsx')).ProviderCreate,
    roles: operators,
  },
  {
    path: '/accounts',
    load: async () => (await import('./pages/account-list.tsx')).AccountList,
    roles: installation,
    nav: { section: 'people', label: nav.accounts, icon: 'building' },
  },
  {
    path: '/new-account',
    load: async () => (await import('./pages/account-create.tsx')).AccountCreate,
    roles: operators,
  },
  {
    path: '/accounts/$accountId',
    load: async () => (await import('./pages/account-show.tsx')).AccountShow,
    roles: holders,
  },
  {
    path: '/accounts/$accountId/balance',
    load: async () => (await import('./pages/balance-show.tsx')).BalanceShow,
    roles: holders,
  },
  {
    path: '/accounts/$accountId/statement',
    load: async () => (await import('./pages/statement-show.tsx')).StatementShow,
    roles: holders,
  },
  {
    path: '/people',
    load: async () => (await import('./pages/person-list.tsx')).PersonList,
    roles: holders,
    nav: { section: 'people', label: nav.people_list, icon: 'people' },
  },
  {
    path: '/settings',
    load: async () => (await import('./pages/setting-list.tsx')).SettingList,
    roles: installation,
    nav: { section: 'installation', label: nav.settings, icon: 'sliders' },
  },
  {
    path: '/tokens',
    load: async () => (await import('./pages/token-list.tsx')).TokenList,
    roles: holders,
    nav: { section: 'installation', label: nav.tokens, icon: 'ticket' },
  },
  {
    path: '/audit',
    load: async () => (await import('./pages/audit-list.tsx')).AuditList,
    roles: holders,
    nav: { section: 'installation', label: nav.audit, icon: 'history' },
  },
  {
    path: '/reference',
    load: async () => (await import('./pages/reference.tsx')).Reference,
    roles: everyone,
    nav: { section: 'build', label: nav.reference, icon: 'book' },
  },
  { path: '/profile', load: async () => (await import('./pages/profile-show.tsx')).ProfileShow, roles: everyone },
];

/** Pages for whoever is not signed in yet. Single sign-on comes back to the second where it failed. */
export const openScreens: readonly Omit<Screen, 'roles'>[] = [
  { path: '/invitation', load: async () => (await import('./pages/invitation-accept.tsx')).InvitationAccept },
  { path: '/sign-in', load: async () => (await import('./pages/sign-in.tsx')).SignInAgain },
];
