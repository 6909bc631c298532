import type { Message } from '../message/message.ts';
import type { Line } from './line.ts';

interface Group {
  /** In order of sending; a message that comes back takes its old place. */
  readonly waiting: Message[];
  inFlight: number;
  /** The receive that took the messages in flight: it may take more of the same group, others may not. */
  lockedBy: number;
}

/** The order of a FIFO queue: in order within a group, and a group is closed while any of its messages is in flight. */
export function createFifoLine(): Line {
  const groups = new Map<string, Group>();

  function groupOf(message: Message): Group {
    const id = message.content.groupId ?? '';
    const known = groups.get(id);
    if (known !== undefined) return known;
    const group: Group = { waiting: [], inFlight: 0, lockedBy: 0 };
    groups.set(id, group);
    return group;
  }

  function firstReady(group: Group): Message | undefined {
    while (group.waiting[0]?.state === 'gone') group.waiting.shift();
    const first = group.waiting[0];
    return first?.state === 'ready' ? first : undefined;
  }

  return {
    add(message) {
      const { waiting } = groupOf(message);
      let place = waiting.length;
      while (place > 0 && (waiting[place - 1]?.seq ?? 0) > message.seq) place -= 1;
      waiting.splice(place, 0, message);
    },
    take(_now, receive) {
      for (const [id, group] of groups) {
        if (group.inFlight > 0 && group.lockedBy !== receive) continue;
        const message = firstReady(group);
        if (message !== undefined) {
          group.waiting.shift();
          return message;
        }
        if (group.inFlight === 0 && group.waiting.length === 0) groups.delete(id);
      }
      return undefined;
    },
    tookOff(message, receive) {
      const group = groupOf(message);
      group.inFlight += 1;
      group.lockedBy = receive;
    },
    landed(message) {
      groupOf(message).inFlight -= 1;
    },
  };
}
