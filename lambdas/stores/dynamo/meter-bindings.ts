import type { Reservation, ReservedUnit } from '../meter-store.ts';
import {
  committedName,
  keyEndName,
  lastUsedName,
  markOf,
  minuteName,
  openName,
  periodName,
  tombstoneName,
} from './meter-item.ts';
import { MAX_FORGOTTEN } from './meter-writes.ts';

/** What the placeholders of a request's own writes stand for. */
export const bindUnit = (unit: ReservedUnit) => ({
  names: {
    '#open': openName(unit.requestId),
    '#committed': committedName(unit.requestId),
    '#tombstone': tombstoneName(unit.requestId),
    '#minute': minuteName(unit.minute),
    '#period': periodName(unit.period),
  },
  values: { ':mark': markOf(unit), ':one': 1, ':minusOne': -1 },
});

/** The same, for `RESERVE`. */
export const bindReservation = (reservation: Reservation) => {
  const { names, values } = bindUnit(reservation);
  const { keyId, now, quota, rpm } = reservation;
  return {
    names: { ...names, '#keyEnd': keyEndName(keyId), '#lastUsed': lastUsedName(keyId) },
    values: { ...values, ':now': now, ':quota': quota, ':rpm': rpm },
  };
};

/** Placeholders for attributes to be removed along the way, as many as a write takes. */
export const bindForgotten = (attributes: string[]): Record<string, string> =>
  Object.fromEntries(attributes.slice(0, MAX_FORGOTTEN).map((name, i) => [`#a${i}`, name]));
