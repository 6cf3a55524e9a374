"""Sentences of the synthetic restaurant reviews, by the fact they state; a fact has several independent wordings.

Keys are values of the domain file restaurant-reviews. No sentence states another fact than its key and what
`IMPLIES` in synthetic.py derives from it.
"""

LIKES: dict[str, tuple[str, ...]] = {
    "restaurant": (
        "This is my favourite place in town.",
        "What a find, easily the best restaurant on this side of the river.",
        "I adore this little bistro.",
        "Everything about our evening here was a pleasure.",
        "A wonderful restaurant from start to finish.",
    ),
    "food": (
        "The food was delicious.",
        "Every plate that reached our table was cooked beautifully.",
        "I scraped my plate clean, it was that tasty.",
        "The kitchen clearly knows what it is doing: each bite was a joy.",
        "We loved what we ate.",
        "Wonderful cooking, full of flavour.",
        "I have rarely eaten this well.",
    ),
    "service": (
        "The service was excellent.",
        "Our waiter took great care of us all evening.",
        "Glasses were refilled before we could ask, and nobody ever hovered.",
        "We were very well looked after.",
        "The team on the floor does a superb job.",
    ),
    "friendliness": (
        "The staff were friendly and welcoming.",
        "Everybody who works here greets you with a smile.",
        "Our waitress was the kindest person you could hope to meet.",
        "They treated us like old acquaintances the moment we walked in, so warm and polite.",
    ),
    "speed": (
        "Our plates arrived within minutes.",
        "The service was quick.",
        "We were impressed by how fast everything came out of the kitchen.",
        "No waiting around here: order, and five minutes later you eat.",
    ),
    "prices": (
        "The prices are very reasonable.",
        "I was pleasantly surprised at how little we paid.",
        "You get a lot for your money.",
        "It is cheap, and I mean that as a compliment.",
        "The bill came to half of what I had feared.",
    ),
    "portions": (
        "The portions are generous.",
        "They heap your plate, which I appreciated.",
        "Servings are huge, and I left happily stuffed.",
        "Nobody could leave hungry with plates this size.",
    ),
    "menu": (
        "The menu offers something for every taste, which is great.",
        "I loved how many dishes there were to choose from.",
        "A fantastic selection of dishes, I wanted to order half of them.",
        "What an inventive menu.",
    ),
    "drinks": (
        "The cocktails were excellent.",
        "They pour a terrific pint.",
        "I loved the drinks, above all the house lemonade.",
        "The bar mixes the best margarita I have had in years.",
    ),
    "wine": (
        "The wine list is superb.",
        "A thoughtful list of wines with plenty of good bottles.",
        "Wine lovers will be delighted by the cellar here.",
    ),
    "desserts": (
        "The desserts were heavenly.",
        "Save room for the chocolate cake, it was out of this world.",
        "I could have eaten three helpings of that tiramisu.",
        "Their sweets alone are a reason to come, absolutely lovely.",
    ),
    "freshness": (
        "The ingredients were wonderfully fresh.",
        "You can tell that the vegetables were picked that very morning.",
        "Everything on the plate was fresh and in season.",
    ),
    "presentation": (
        "Each plate was beautifully arranged.",
        "The dishes looked like little works of art.",
        "Gorgeous presentation, I took pictures of every course.",
    ),
    "atmosphere": (
        "The atmosphere was lovely.",
        "It feels cosy and relaxed inside.",
        "The place has a charming, romantic mood.",
        "I loved the lively vibe.",
        "One feels at ease here, the ambience is wonderful.",
    ),
    "decor": (
        "The room is beautifully decorated.",
        "I loved the old posters and the copper lamps.",
        "A stylish interior with great taste in every detail.",
    ),
    "noise": (
        "It was pleasantly quiet, so we could talk.",
        "We could hear each other without raising our voices, which was nice.",
        "The calm in the room did us good, hardly a sound.",
    ),
    "cleanliness": (
        "Everything was spotless.",
        "The room and the restrooms were perfectly clean.",
        "You could eat off the floor, it is that clean.",
    ),
    "location": (
        "The location is perfect.",
        "It sits right by the harbour with a gorgeous view.",
        "Ideally placed, two minutes from the station.",
    ),
    "seating": (
        "The chairs are very comfortable.",
        "There is plenty of space between the tables, which we enjoyed.",
        "We got a big, soft booth and never wanted to get up.",
    ),
    "parking": (
        "Parking was easy and free.",
        "There is a large car park right behind the house, very handy.",
        "We found a parking space at once.",
    ),
}

DISLIKES: dict[str, tuple[str, ...]] = {
    "restaurant": (
        "This is the worst restaurant I have been to.",
        "Everything about our evening here was a disappointment.",
        "I do not understand why anybody likes this restaurant.",
        "A terrible place from start to finish.",
    ),
    "food": (
        "The food was awful.",
        "Nothing we ate had any taste.",
        "I left most of my plate untouched, it was that bad.",
        "Whoever was cooking that night should try another profession.",
        "The food was greasy and bland.",
        "I have had better meals out of a tin.",
    ),
    "service": (
        "The service was terrible.",
        "Our waiter could not have cared less about us.",
        "We had to ask for everything twice.",
        "Nobody on the floor seemed to know what they were doing.",
        "The service was a letdown.",
    ),
    "friendliness": (
        "The staff were rude.",
        "Our waitress rolled her eyes when we asked a question.",
        "The man at the door barked at us as if we were a nuisance.",
        "Not a smile from anybody who works there, they were plainly unfriendly.",
    ),
    "speed": (
        "The service was painfully slow.",
        "An hour passed before anything came out of the kitchen.",
        "I have seen glaciers move faster than this service.",
        "It took them forty minutes to bring two plates.",
    ),
    "prices": (
        "It is overpriced.",
        "The bill made me gasp, far too much for what we got.",
        "They charge a fortune.",
        "The prices are outrageous.",
        "You pay twice what it is worth.",
    ),
    "portions": (
        "The portions are tiny.",
        "I was still hungry after three courses.",
        "There was so little on my plate that I stopped for a sandwich on the way home.",
        "Skimpy servings.",
    ),
    "menu": (
        "The menu is far too short.",
        "There was hardly anything to choose from.",
        "The selection of dishes is poor and boring.",
        "Five dishes, all of them the usual ones: I wished for more choice.",
    ),
    "drinks": (
        "The cocktails were watery.",
        "My beer was flat and warm.",
        "The drinks were a disappointment.",
        "I have no idea what they put in my glass, but it was undrinkable.",
    ),
    "wine": (
        "The wine list is poor.",
        "Two bottles of red to choose from, and both were bad.",
        "Anybody who cares about wine will be let down by their list.",
    ),
    "desserts": (
        "The desserts were disappointing.",
        "My cheesecake was dry and far too sweet.",
        "Skip the sweets, the tiramisu was dreadful.",
    ),
    "freshness": (
        "The ingredients were not fresh.",
        "The lettuce was brown and limp.",
        "Everything seemed to come straight out of the freezer.",
    ),
    "presentation": (
        "The plates looked as if somebody had thrown the meal at them.",
        "The dishes were sloppily presented.",
        "No care at all was taken over how the dishes looked.",
    ),
    "atmosphere": (
        "The atmosphere was gloomy.",
        "The place has no charm whatsoever.",
        "It felt like sitting in a waiting room.",
        "The mood in there was depressing.",
    ),
    "decor": (
        "The decor is shabby.",
        "The wallpaper is peeling and the furniture has seen better days.",
        "I found the interior tacky and ugly.",
    ),
    "noise": (
        "It was so loud that we had to shout.",
        "The noise was unbearable.",
        "I could not hear my own thoughts over the music.",
    ),
    "cleanliness": (
        "The tables were sticky and the floor was dirty.",
        "The restrooms were filthy.",
        "There was old grime on my fork.",
    ),
    "location": (
        "The location is awful.",
        "It lies in the middle of nowhere, beside a motorway, which I hated.",
        "We walked past it four times, it is so badly placed.",
    ),
    "seating": (
        "The chairs are hard and uncomfortable.",
        "We sat squeezed in, elbow to elbow with strangers.",
        "The tables stand far too close together.",
    ),
    "parking": (
        "Parking is a nightmare.",
        "There is nowhere to leave the car.",
        "We circled the block for half an hour before we could park.",
    ),
}

MENTIONS: dict[str, tuple[str, ...]] = {
    "menu": ("The menu changes every month.", "The menu is printed in three languages."),
    "wine": ("They list their wines by region.",),
    "decor": ("The decor is all black and white.",),
    "location": ("The location is on the corner of two streets.",),
    "parking": ("The parking lot is shared with a bank.",),
    "prices": ("The prices are written on a board.",),
    "desserts": ("Desserts are brought on a trolley.",),
}

# {dish} is a noun of either number, so no verb here shows number.
DISH_LIKES: tuple[str, ...] = (
    "The {dish} tasted wonderful.",
    "I still dream about the {dish}.",
    "We loved the {dish}.",
    "Order the {dish}, you will thank me.",
    "I could live on the {dish} they serve.",
    "The {dish} went beyond anything I had hoped for.",
    "Nobody in this city does {dish} better.",
)
DISH_DISLIKES: tuple[str, ...] = (
    "The {dish} tasted awful.",
    "I pushed the {dish} away after one bite.",
    "The {dish} turned out to be a disappointment.",
    "Do not order the {dish}, you will be sorry.",
    "We all hated the {dish}.",
    "The {dish} had no taste at all.",
)
DISH_MENTIONS: tuple[str, ...] = ("I ordered the {dish}.", "We shared the {dish}.", "I went for the {dish}.")
DISHES: dict[str, tuple[str, ...]] = {
    "pizza": ("pizza", "pizza with mushrooms"),
    "pasta": ("pasta", "spaghetti", "lasagne"),
    "sushi": ("sushi", "salmon nigiri"),
    "steak": ("steak", "sirloin"),
    "burger": ("burger", "cheeseburger"),
    "salad": ("salad", "green salad"),
    "soup": ("soup", "onion soup"),
    "seafood": ("seafood", "grilled prawns", "mussels"),
    "chicken": ("chicken", "roast chicken"),
    "bread": ("bread", "home-made bread"),
    "coffee": ("coffee", "espresso"),
    "fries": ("fries",),
    "curry": ("curry", "lamb curry"),
    "ice_cream": ("ice cream", "vanilla ice cream"),
}

OCCASIONS: dict[str, tuple[str, ...]] = {
    "birthday": (
        "We celebrated my sister's birthday here.",
        "I turned forty and chose this restaurant to mark the day.",
        "My husband brought me here on my birthday.",
    ),
    "anniversary": (
        "We came for our tenth wedding anniversary.",
        "My wife and I marked our anniversary here.",
    ),
    "date": (
        "I took a girl I had just met here on our first date.",
        "We came here on a date.",
        "My boyfriend surprised me with a romantic evening for two here.",
    ),
    "business": (
        "I took two clients here between meetings.",
        "Our office came here for a business meal.",
        "I was here with my boss to sign a contract over a meal.",
    ),
    "children": (
        "We went with our two small children.",
        "Our kids came along.",
        "I was there with my daughter, who is six.",
    ),
    "friends": (
        "I met three old friends here.",
        "A group of us who have been friends since school got together here.",
        "My best friend and I tried this restaurant.",
    ),
    "parents": (
        "I came with my mother and father.",
        "My parents were visiting, so I brought them here.",
    ),
    "brunch": ("We came for brunch on Sunday.", "I was there for a late Saturday brunch."),
    "lunch": (
        "I came for lunch.",
        "We stopped for lunch on a weekday.",
        "I dropped in at noon for a midday meal.",
    ),
    "dinner": (
        "We came for dinner on Friday.",
        "I had dinner here last week.",
        "We had our evening meal here at eight.",
    ),
    "holiday": (
        "We found it on the third day of our vacation.",
        "We were on holiday and staying around the corner.",
    ),
    "takeaway": (
        "I ordered by phone and picked the food up to eat at home.",
        "We got takeout.",
        "I had it delivered to my flat.",
    ),
}

EXPERIENCES: dict[str, tuple[str, ...]] = {
    "waited": (
        "We waited more than an hour for our meal.",
        "It took forever until anything was on the table.",
        "We sat there for fifty minutes before our plates came.",
    ),
    "cold": (
        "My main course was stone cold when it came.",
        "The food they served us had gone cold.",
        "What should have been hot was barely lukewarm.",
    ),
    "undercooked": (
        "My meat was raw in the middle.",
        "They served my meat undercooked, still pink and bleeding.",
        "The potatoes on my plate were still hard, nobody had cooked them through.",
    ),
    "overcooked": (
        "My meat was burnt to a crisp.",
        "They had cooked the fish to death, dry as cardboard.",
        "The vegetables were overcooked to a mush.",
    ),
    "wrong_order": (
        "The waiter brought me a dish that I had not ordered.",
        "They mixed up our orders and served me the wrong plate.",
        "I asked for fish and was given beef.",
    ),
    "bill_error": (
        "There was a mistake on the bill.",
        "They charged us for a bottle that we never had.",
        "The sum on the check was wrong, and we had to have it corrected.",
    ),
    "ignored": (
        "The staff ignored us.",
        "We waved and waved, and the waiters looked straight through us.",
        "For twenty minutes nobody working there took any notice of our table.",
    ),
    "rushed": (
        "They rushed us out of the door.",
        "The bill came unasked while we were still chewing, they wanted us gone.",
        "We felt hurried to finish and free the table.",
    ),
    "ill": (
        "I had food poisoning afterwards.",
        "Both of us felt sick to the stomach after eating here.",
        "I spent the night after this meal in the bathroom, ill.",
    ),
    "sent_back": (
        "I sent my plate back to the kitchen.",
        "We returned one of the dishes to the chef.",
        "I had to ask them to take my main course back.",
    ),
    "free_item": (
        "They gave us a dessert on the house.",
        "The owner poured us a glass and would not let us pay for it.",
        "We got a free starter.",
    ),
    "sold_out": (
        "They had run out of the dish I wanted.",
        "The special I had come for was sold out.",
    ),
    "leftovers": (
        "We took the rest home in a box.",
        "I carried my leftovers home.",
    ),
    "outside": (
        "We sat outside on the terrace.",
        "Our table was in the garden.",
        "We were seated on the patio.",
    ),
}

VERDICTS: dict[str, tuple[str, ...]] = {
    "back": (
        "We will be back.",
        "I cannot wait to return.",
        "I have already booked my next visit.",
        "You will see me here again soon.",
    ),
    "not_back": (
        "I will not be back.",
        "That was my first and last visit.",
        "They have lost me as a guest for good.",
        "I will never set foot in there again.",
    ),
    "recommends": (
        "I recommend this restaurant to everybody.",
        "Do yourself a favour and go.",
        "Tell everyone you know about this restaurant.",
    ),
    "avoid": (
        "Stay away from this restaurant.",
        "Save your money and eat somewhere else.",
        "I warn everybody against this restaurant.",
    ),
    "regular": (
        "I have eaten here dozens of times.",
        "I come here every other week.",
        "We have been regulars for years.",
    ),
    "first_time": (
        "It was my first visit.",
        "I had never been there before.",
        "This was the first time we tried it.",
    ),
    "declined": (
        "This place used to be so much better.",
        "This restaurant has gone downhill since the new owners took over.",
        "A few years ago this restaurant was great, it no longer is.",
    ),
    "expected_more": (
        "I had expected more.",
        "After all the hype, I thought it would be better.",
        "It did not live up to what I had been told.",
    ),
}

FILLERS: tuple[str, ...] = (
    "It was raining that day.",
    "I had read about it in the paper.",
    "We got there around seven.",
    "A bus goes past the house.",
    "I am writing this on the train.",
    "We had a table for the evening.",
    "It has been open since spring.",
    "Somebody at work had told me about it.",
    "It was a Tuesday.",
    "I do not write many reviews.",
)
