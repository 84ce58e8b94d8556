// The exactly-once loop of kafkajs: consume, double, produce, with the offsets in the same transaction.
//   <bootstrap> <source> <target> <name> <count> <step>:<transaction> | -
// At the step that is named it prints `paused` and waits to be killed. kafkajs has no static members: after a kill the
// group waits for the session timeout.
const { Kafka, logLevel } = require('kafkajs')

const [brokers, source, target, name, count, pauseAt] = process.argv.slice(2)
const RECORDS_PER_TRANSACTION = 10
const kafka = new Kafka({ clientId: name, brokers: brokers.split(','), logLevel: logLevel.ERROR })

async function reached(step, first) {
  if (pauseAt !== `${step}:${Math.floor(first / RECORDS_PER_TRANSACTION)}`) return
  console.log('paused')
  await new Promise((resolve) => { process.stdin.on('end', resolve).resume() })
}

async function transform(producer, messages) {
  const numbers = messages.map((message) => Number(message.value.toString()))
  const transaction = await producer.transaction()
  await transaction.send({
    topic: target,
    messages: numbers.map((number) => ({ value: `${number * 2}`, partition: number % 2 })),
  })
  await reached('produced', numbers[0])
  const offset = `${numbers[numbers.length - 1] + 1}`
  await transaction.sendOffsets({
    consumerGroupId: name,
    topics: [{ topic: source, partitions: [{ partition: 0, offset }] }],
  })
  await reached('offsets', numbers[0])
  await transaction.commit()
  return numbers[numbers.length - 1]
}

async function main() {
  const producer = kafka.producer({ transactionalId: name, idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const consumer = kafka.consumer({ groupId: name, sessionTimeout: 6000, heartbeatInterval: 1000, readUncommitted: false })
  await consumer.connect()
  await consumer.subscribe({ topics: [source], fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async ({ batch, resolveOffset, heartbeat }) => {
        for (let at = 0; at < batch.messages.length; at += RECORDS_PER_TRANSACTION) {
          const last = await transform(producer, batch.messages.slice(at, at + RECORDS_PER_TRANSACTION))
          resolveOffset(`${last}`)
          await heartbeat()
          if (last === Number(count) - 1) resolve()
        }
      },
    })
  })
  await consumer.disconnect()
  await producer.disconnect()
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1) })
