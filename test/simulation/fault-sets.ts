import { type Faults, NO_FAULTS } from './faulty-network.ts';

export const FAULT_SETS: Record<string, Faults> = {
  calm: NO_FAULTS,
  'lost answers': { ...NO_FAULTS, drop: 0.1, loseReply: 0.15 },
  'late writes': { ...NO_FAULTS, late: 0.15, loseReply: 0.05 },
  duplicates: { ...NO_FAULTS, duplicate: 0.2 },
  throttling: { ...NO_FAULTS, throttle: 0.3 },
  'crashes and everything else': {
    drop: 0.05,
    loseReply: 0.08,
    late: 0.08,
    duplicate: 0.05,
    stray: 0,
    throttle: 0.1,
    crash: 0.5,
  },
};
