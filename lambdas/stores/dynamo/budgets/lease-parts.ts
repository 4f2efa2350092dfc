/** A late part of the bundle: few requests are under a budget. */
export { createLeaseAttempts } from './lease-attempts.ts';
export { createLeases } from './leases.ts';
export { createReadBudget } from './read-budget.ts';
export { leasing } from './writes.ts';
