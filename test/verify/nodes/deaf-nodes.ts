// Loaded before a service: it does not hear that a person changed, so that it goes on with what it knows of their keys.

import { KeyDirectory } from '../../../src/accounts/accounts.ts';

const notHeard = () => {};
Object.assign(KeyDirectory.prototype, { forgetPerson: notHeard, forgetAccount: notHeard, forgetAll: notHeard });
