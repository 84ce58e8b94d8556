// kafkajs against a running cluster: produce, a consumer group, admin. Prints one line of JSON with what it saw.
const { Kafka, CompressionTypes, logLevel } = require('kafkajs')

const [brokers, topic] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'kafkajs-test', brokers: brokers.split(','), logLevel: logLevel.ERROR })
const COUNT = 500

async function produce() {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const messages = []
  for (let number = 0; number < COUNT; number++) {
    messages.push({ key: `k${number % 5}`, value: `${number}`, headers: { h: '1' } })
  }
  await producer.send({ topic, acks: -1, compression: CompressionTypes.GZIP, messages })
  await producer.disconnect()
}

async function consumeInGroup() {
  const members = [0, 1].map(() => kafka.consumer({ groupId: `kafkajs-${topic}`, heartbeatInterval: 300, maxWaitTimeInMs: 200 }))
  const joined = members.map((member) => new Promise((resolve) => member.on(member.events.GROUP_JOIN, resolve)))
  const values = []
  let headers = 0
  let done
  const all = new Promise((resolve) => { done = resolve })
  for (const member of members) {
    await member.connect()
    await member.subscribe({ topics: [topic], fromBeginning: true })
    await member.run({
      eachMessage: async ({ message }) => {
        values.push(Number(message.value.toString()))
        headers += message.headers.h.toString() === '1' ? 1 : 0
        if (new Set(values).size === COUNT) done()
      },
    })
  }
  await Promise.all(joined)
  await all
  for (const member of members) await member.disconnect()
  return { distinct: new Set(values).size, headers: headers >= COUNT }
}

/* kafkajs asks for the leaders of a new topic once, and gives up if the broker does not know the topic yet: as in Kafka,
   a broker that forwards CreateTopics returns before its own metadata has the topic (KIP-590). */
async function known(admin, name) {
  const deadline = Date.now() + 60_000
  for (;;) {
    try {
      return await admin.fetchTopicMetadata({ topics: [name] })
    } catch (error) {
      if (error.type !== 'UNKNOWN_TOPIC_OR_PARTITION' || Date.now() > deadline) throw error
    }
  }
}

async function administer() {
  const admin = kafka.admin()
  await admin.connect()
  const wanted = { topic: `${topic}-js`, numPartitions: 2, replicationFactor: 3 }
  const created = await admin.createTopics({ topics: [wanted], waitForLeaders: false })
  await known(admin, wanted.topic)
  const cluster = await admin.describeCluster()
  const metadata = await admin.fetchTopicMetadata({ topics: [topic] })
  const offsets = await admin.fetchTopicOffsets(topic)
  const committed = await admin.fetchOffsets({ groupId: `kafkajs-${topic}`, topics: [topic] })
  const groups = (await admin.listGroups()).groups.map((group) => group.groupId)
  await admin.deleteTopics({ topics: [`${topic}-js`] })
  await admin.disconnect()
  return {
    created,
    brokers: cluster.brokers.length,
    partitions: metadata.topics[0].partitions.length,
    end: offsets.reduce((sum, part) => sum + Number(part.offset), 0),
    committed: committed[0].partitions.reduce((sum, part) => sum + Number(part.offset), 0),
    listed: groups.includes(`kafkajs-${topic}`),
  }
}

async function main() {
  await produce()
  const group = await consumeInGroup()
  console.log(JSON.stringify({ ...group, ...(await administer()) }))
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1) })
