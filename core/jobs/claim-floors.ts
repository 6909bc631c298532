import { type HandlerAddress, handlerName } from '../handler/naming.ts';
import type { Time } from '../time.ts';

/** The index positions below which one handler has nothing left to claim. */
interface Floor {
  /** The lowest claim in flight. Claim numbers only increase, so no job of the handler has a lower one in flight. */
  readonly claimNo: string;
  /** For each priority, the due time and id up to which all jobs were claimed. */
  readonly due: Map<number, { readonly at: string; readonly id: string }>;
}

/** The floor below which a claim has left nothing of a priority. */
export interface NewFloor extends HandlerAddress {
  readonly priority: number;
  /** The lowest claim in flight. */
  readonly firstClaim: string;
  /** Due time of the last job, but no later than two seconds ago: a slow transaction may commit due jobs late. */
  readonly floorAt: string;
  readonly floorId: string;
}

/**
 * The index positions at which one dispatcher's claims begin. A job that becomes due below a floor, because it was
 * released, committed late or enqueued with a past time, is claimed once a claim ignores the floors.
 */
export interface ClaimFloors {
  /** Runs before a claim: decides whether it ignores the floors, which is cheap or was not done for some seconds. */
  begin(): void;
  /** Returns a claim number for each handler, and a time and an id for each of its ten priorities. */
  read(handlers: readonly HandlerAddress[]): { claimNos: string[]; dueTimes: string[]; ids: string[] };
  /** Runs after a claim that succeeded: clears the floors if it ignored them, and raises them to these. */
  end(raised: readonly NewFloor[]): void;
  /** Returns the floors of due times as JSON, for the next run: its first claim would be slow without them. */
  save(): string;
}

const PRIORITIES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/**
 * Claims without floors use at most 1/20 of the time: floors matter only when such claims are slow. The slowest,
 * which the server ends, use a sixth, so that others come between them.
 */
const SHARE = 20;
const LEAST_SHARE = 6;
const LONGEST_MS = 5000;

interface Saved {
  readonly cost: number;
  /** Milliseconds since the last claim without floors; null without one. */
  readonly ignoredAgo: number | null;
  /** For each handler, by its name: priority, due time and id of each floor. */
  readonly handlers: readonly (readonly [string, readonly (readonly [number, string, string])[]])[];
}

/** Floors that an earlier run saved. */
export interface SavedFloors {
  readonly floors: string;
  /** Milliseconds since then; negative if the clock was set back, so that they are ignored at once. */
  readonly ageMs: number;
}

export function openFloors(time: Pick<Time, 'now'>, saved?: SavedFloors): ClaimFloors {
  const before = saved && (JSON.parse(saved.floors) as Saved);
  const ago = saved && saved.ageMs >= 0 ? saved.ageMs + (before?.ignoredAgo ?? Infinity) : Infinity;
  const floors = new Map<string, Floor>();
  for (const [name, known] of before?.handlers ?? []) {
    floors.set(name, { claimNo: '0', due: new Map(known.map(([priority, at, id]) => [priority, { at, id }])) });
  }
  let ignoredAt = time.now() - ago;
  let cost = before?.cost ?? 0;
  let measuring = false;
  return {
    begin() {
      // A claim without floors that failed may have been too slow.
      if (measuring) cost = LONGEST_MS;
      measuring = time.now() - ignoredAt >= Math.min(cost * SHARE, Math.max(cost * LEAST_SHARE, LONGEST_MS));
      if (measuring) ignoredAt = time.now();
    },
    read(handlers) {
      const known = handlers.map((handler) => (measuring ? undefined : floors.get(handlerName(handler))));
      const due = known.flatMap((floor) => PRIORITIES.map((priority) => floor?.due.get(priority)));
      return {
        claimNos: known.map((floor) => floor?.claimNo ?? '0'),
        dueTimes: due.map((floor) => floor?.at ?? '-infinity'),
        ids: due.map((floor) => floor?.id ?? '0'),
      };
    },
    end(raised) {
      if (measuring) {
        cost = time.now() - ignoredAt;
        floors.clear();
      }
      measuring = false;
      for (const [name, claimed] of Map.groupBy(raised, handlerName)) {
        const due = floors.get(name)?.due ?? new Map();
        for (const { priority, floorAt, floorId } of claimed) due.set(priority, { at: floorAt, id: floorId });
        const [first] = claimed;
        if (first) floors.set(name, { claimNo: first.firstClaim, due });
      }
    },
    save() {
      const handlers = [...floors].map(
        ([name, { due }]) => [name, [...due].map(([priority, { at, id }]) => [priority, at, id] as const)] as const,
      );
      return JSON.stringify({ cost, ignoredAgo: time.now() - ignoredAt, handlers } satisfies Saved);
    },
  };
}
