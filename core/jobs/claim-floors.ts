import { type HandlerAddress, handlerName } from '../handler/naming.ts';
import type { Time } from '../time.ts';

/** What lies behind the claims of one handler. */
interface Floor {
  /** No job of the handler is in flight under a lower claim: claims only rise. */
  readonly claimNo: string;
  /** Of each priority: what is due before this time, or at it with this id or a lower one, was claimed. */
  readonly due: Map<number, { readonly at: string; readonly id: string }>;
}

/** What a claimed job tells about the floors of its handler. */
export interface FloorOfJob {
  readonly priority: number;
  /** The lowest claim in flight. */
  readonly firstClaim: string;
  /** Due time of the job, but two seconds ago at the latest: a transaction may be slow to commit what is due. */
  readonly floorAt: string;
  readonly floorId: string;
}

/**
 * From where one dispatcher's claims look. What falls due below a floor, because it was released, committed late or
 * meant for the past, is seen when the floors are forgotten.
 */
export interface ClaimFloors {
  /** Before a claim: forgets the floors when that costs little. */
  begin(): void;
  /** A claim number for each handler, and a time and an id for each of its ten priorities. */
  read(handlers: readonly HandlerAddress[]): { claimNos: string[]; dueTimes: string[]; ids: string[] };
  /** After a claim: raises the floors to these jobs, whose order within a priority is that of due time and id. */
  end(jobs: readonly (HandlerAddress & FloorOfJob)[]): void;
}

const PRIORITIES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/** Claims without floors get one part in so many of the time, so that floors matter only where those are slow. */
const SHARE = 20;
const LONGEST_MS = 5000;

export function openFloors(time: Pick<Time, 'now'>): ClaimFloors {
  const floors = new Map<string, Floor>();
  let forgotAt = Number.NEGATIVE_INFINITY;
  let cost = 0;
  let measuring = false;
  return {
    begin() {
      measuring = time.now() - forgotAt >= Math.min(cost * SHARE, LONGEST_MS);
      if (!measuring) return;
      floors.clear();
      forgotAt = time.now();
    },
    read(handlers) {
      const known = handlers.map((handler) => floors.get(handlerName(handler)));
      const due = known.flatMap((floor) => PRIORITIES.map((priority) => floor?.due.get(priority)));
      return {
        claimNos: known.map((floor) => floor?.claimNo ?? '0'),
        dueTimes: due.map((floor) => floor?.at ?? '-infinity'),
        ids: due.map((floor) => floor?.id ?? '0'),
      };
    },
    end(jobs) {
      if (measuring) cost = time.now() - forgotAt;
      for (const [name, claimed] of Map.groupBy(jobs, handlerName)) {
        const due = floors.get(name)?.due ?? new Map();
        for (const { priority, floorAt, floorId } of claimed) due.set(priority, { at: floorAt, id: floorId });
        const [first] = claimed;
        if (first) floors.set(name, { claimNo: first.firstClaim, due });
      }
    },
  };
}
